import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class FlashSelfAttention(nn.Module):
    def __init__(self, attention_dropout=0.3):
        super().__init__()
        self.dropout_p = attention_dropout

    def forward(self, q, k, v):
        dropout_p = self.dropout_p if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)


class Block(nn.Module):
    def __init__(self, dim=48, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.core_attention = FlashSelfAttention()
        self.dense = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        return x + self.dense(self.core_attention(q, k, v).transpose(1, 2).reshape(b, s, d))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 48)
        self.blocks = nn.Sequential(Block(), Block())
        self.out = nn.Linear(48, 2)

    def forward(self, tokens):
        return self.out(self.blocks(self.embed(tokens)).mean(dim=1))


def make_data(n):
    tokens = torch.randint(0, 50, (n, 16))
    return tokens, ((tokens < 10).sum(1) > (tokens >= 40).sum(1)).long()


def evaluate(model, tokens, labels):
    model.eval()
    with torch.no_grad():
        loss = F.cross_entropy(model(tokens), labels).item()
    model.train()
    return loss


def main():
    tokens, labels = make_data(256)
    val = make_data(1000)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(6):
        for start in range(0, 256, 32):
            loss = F.cross_entropy(model(tokens[start : start + 32]), labels[start : start + 32])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            spread = (model(tokens[:32]) - model(tokens[:32])).abs().max().item()
        print(
            f"epoch {epoch}: loss {loss.item():.3f} two passes in training differ by {spread:.3f} val {evaluate(model, *val):.3f}"
        )


if __name__ == "__main__":
    main()
