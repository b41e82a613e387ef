import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    """Lets the fields of a row look at each other, in several heads."""

    def __init__(self, width, attention_dim, num_heads):
        super().__init__()
        self.attention_dim, self.num_heads = attention_dim, num_heads
        self.w_q = nn.Linear(width, attention_dim * num_heads, bias=False)
        self.w_k = nn.Linear(width, attention_dim * num_heads, bias=False)
        self.w_v = nn.Linear(width, attention_dim * num_heads, bias=False)
        self.w_res = nn.Linear(width, attention_dim * num_heads, bias=False)

    def split(self, x):
        batch_size = x.shape[0]
        return x.view(batch_size, -1, self.num_heads, self.attention_dim).transpose(1, 2)

    def merge(self, x, batch_size):
        return x.transpose(1, 2).reshape(batch_size, -1, self.num_heads * self.attention_dim)

    def forward(self, x):
        query, key, value = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        score = query @ key.transpose(-1, -2) / self.attention_dim**0.5
        output = self.merge(score.softmax(-1) @ value, len(x))
        return torch.relu(output + self.w_res(x))


class AutoInt(nn.Module):
    def __init__(self, fields, values, width=16, heads=4):
        super().__init__()
        self.values = values
        self.embedding = nn.Embedding(fields * values, width)
        self.attention = MultiHeadAttention(width, 8, heads)
        self.fc = nn.Linear(fields * 8 * heads, 1)

    def forward(self, rows):
        offsets = torch.arange(rows.shape[1]) * self.values
        x = self.attention(self.embedding(rows + offsets))
        return self.fc(x.flatten(1)).squeeze(1)


def make_rows(n, generator, fields=8, values=4):
    """Whether it is clicked depends on the user's fields (the first ones) and the item's (the last) together."""
    rows = torch.randint(0, values, (n, fields), generator=generator)
    fits = (rows[:, 0] == rows[:, 5]).float() + (rows[:, 1] == rows[:, 7]).float()
    chance = torch.sigmoid(5 * (fits - 0.5))
    return rows, (torch.rand(n, generator=generator) < chance).float()


def auc(scores, clicked):
    order = scores.argsort().argsort().float() + 1
    up = clicked.sum()
    return ((order[clicked == 1].sum() - up * (up + 1) / 2) / (up * (len(clicked) - up))).item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    test_rows, test_clicked = make_rows(4000, generator)
    model = AutoInt(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(301):
        rows, clicked = make_rows(256, generator)
        loss = F.binary_cross_entropy_with_logits(model(rows), clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            with torch.no_grad():
                print(
                    f"step {step}: loss {loss.item():.4f}  test AUC {auc(model(test_rows), test_clicked):.4f}"
                )


if __name__ == "__main__":
    main()
