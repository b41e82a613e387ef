import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, emb_size=64, num_heads=2, dropout=0.0):
        super().__init__()
        self.emb_size, self.num_heads = emb_size, num_heads
        self.qkv = nn.Linear(emb_size, emb_size * 3)
        self.att_drop = nn.Dropout(dropout)
        self.projection = nn.Linear(emb_size, emb_size)
        self.last_att = None

    def forward(self, x):
        b, n, _ = x.shape
        qkv = self.qkv(x).view(b, n, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        queries, keys, values = qkv[0], qkv[1], qkv[2]
        energy = torch.einsum("bhqd, bhkd -> bhqk", queries, keys)
        scaling = self.emb_size ** (1 / 2)
        att = F.softmax(energy, dim=-1) / scaling
        self.last_att = att.detach()
        att = self.att_drop(att)
        out = torch.einsum("bhal, bhlv -> bhav", att, values)
        return self.projection(out.transpose(1, 2).reshape(b, n, self.emb_size))


class Block(nn.Module):
    def __init__(self, emb_size):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(emb_size), nn.LayerNorm(emb_size)
        self.att = MultiHeadAttention(emb_size)
        self.mlp = nn.Sequential(nn.Linear(emb_size, 128), nn.GELU(), nn.Linear(128, emb_size))

    def forward(self, x):
        x = x + self.att(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, patch=4, side=20, emb_size=64, depth=2, classes=5):
        super().__init__()
        self.projection = nn.Conv2d(1, emb_size, patch, stride=patch)
        self.cls_token = nn.Parameter(torch.randn(1, 1, emb_size))
        self.positions = nn.Parameter(torch.randn((side // patch) ** 2 + 1, emb_size))
        self.blocks = nn.Sequential(*[Block(emb_size) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(emb_size), nn.Linear(emb_size, classes))

    def forward(self, x):
        x = self.projection(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1) + self.positions
        return self.head(self.blocks(x)[:, 0])


def make_images(n, patterns, side=20):
    y = torch.randint(len(patterns), (n,))
    x = 0.6 * torch.randn(n, 1, side, side)
    row, col = torch.randint(side // 4, (2, n))
    for i in range(n):
        r, c = 4 * int(row[i]), 4 * int(col[i])
        x[i, 0, r : r + 4, c : c + 4] += patterns[y[i]]
    return x, y


def main():
    torch.manual_seed(0)
    patterns = 1.5 * torch.randn(5, 4, 4)
    x_train, y_train = make_images(1000, patterns)
    x_test, y_test = make_images(600, patterns)
    model = ViT()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 9):
        for rows in torch.randperm(len(x_train)).split(50):
            loss = F.cross_entropy(model(x_train[rows]), y_train[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 2 == 0:
            with torch.no_grad():
                accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
            att = model.blocks[0].att.last_att
            print(
                f"epoch {epoch:2d}: loss {loss.item():.3f}  test accuracy {accuracy:.3f}  "
                f"attention over all keys sums to {att.sum(-1).mean():.3f}, largest {att.amax(-1).mean():.3f}"
            )


if __name__ == "__main__":
    main()
