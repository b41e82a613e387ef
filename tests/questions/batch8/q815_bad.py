import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

VOCAB, HIDDEN = 16, 14


class ResBlock(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.linear = nn.Linear(hidden_size, hidden_size)
        nn.init.zeros_(self.linear.weight)
        self.act = nn.SiLU()

    def forward(self, x):
        return x + self.act(self.linear(x))


class MedusaHeads(nn.Module):
    def __init__(self, num_heads=3, num_layers=4):
        super().__init__()
        self.medusa_head = nn.ModuleList(
            [
                nn.Sequential(*([ResBlock(HIDDEN)] * num_layers), nn.Linear(HIDDEN, VOCAB, bias=False))
                for _ in range(num_heads)
            ]
        )

    def forward(self, hidden_states):
        return torch.stack([head(hidden_states) for head in self.medusa_head])


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.ModuleList([nn.Embedding(VOCAB, HIDDEN), nn.Embedding(VOCAB, HIDDEN)])

    def forward(self, tokens):
        return self.embed[0](tokens[:, 0]) + self.embed[1](tokens[:, 1])


def main():
    table = torch.randint(0, VOCAB, (3, VOCAB, VOCAB))
    backbone, heads = Backbone(), MedusaHeads()
    for param in backbone.parameters():
        param.requires_grad_(False)
    expected = 3 * (4 * (HIDDEN * HIDDEN + HIDDEN) + HIDDEN * VOCAB)
    print(f"{sum(p.numel() for p in heads.parameters())} parameters, the paper's heads have {expected}")
    optimizer = torch.optim.Adam(heads.parameters(), lr=3e-3)
    for step in range(1, 1001):
        tokens = torch.randint(0, VOCAB, (128, 2))
        target = table[:, tokens[:, 0], tokens[:, 1]]
        logits = heads(backbone(tokens))
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 0:
            accuracy = (logits.argmax(-1) == target).float().mean().item()
            print(f"step {step}: loss {loss.item():.4f} accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
