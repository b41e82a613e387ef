import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE, CHANNELS, PARTS = 5, 12, 4


class DepContext(nn.Module):
    def __init__(self, in_dim, hidden_dim=8):
        super().__init__()
        self.W = nn.Conv2d(in_dim, hidden_dim, 1)
        self.V = nn.Conv2d(in_dim, hidden_dim, 1)

    def forward(self, p_fea):
        n, c, h, w = p_fea.size()
        query = self.W(p_fea).flatten(2).transpose(1, 2)
        key = self.V(p_fea).flatten(2)
        energy = torch.bmm(query, key)
        attention = torch.sum(torch.softmax(energy, dim=-1), dim=1)
        attention = attention.view(n, 1, h, w)
        return p_fea * attention, attention


class PartParser(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(CHANNELS, 16, 1), nn.ReLU())
        self.context = DepContext(16)
        self.decoder = nn.Linear(16, PARTS)

    def forward(self, x):
        fea, attention = self.context(self.backbone(x))
        return self.decoder(fea.mean(dim=(2, 3))), attention


def make_batch(n, generator):
    """One cell holds the person (marked by channel 0), the others hold clutter of all parts."""
    cells = SIDE * SIDE
    part = torch.randint(0, PARTS, (n, cells), generator=generator)
    x = 0.3 * torch.randn(n, cells, CHANNELS, generator=generator)
    x[..., 1 : 1 + PARTS] += 1.5 * F.one_hot(part, PARTS)
    person = torch.randint(0, cells, (n,), generator=generator)
    x[torch.arange(n), person, 0] += 2.0
    label = part[torch.arange(n), person]
    return x.transpose(1, 2).reshape(n, CHANNELS, SIDE, SIDE), label


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = PartParser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x_test, y_test = make_batch(500, generator)
    start = model.context.V.weight.detach().clone()
    for step in range(300):
        x, y = make_batch(64, generator)
        logits, attention = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 59:
            with torch.no_grad():
                logits, attention = model(x_test)
            accuracy = (logits.argmax(1) == y_test).float().mean().item()
            print(
                f"step {step}: loss {loss.item():.3f} accuracy {accuracy:.3f} "
                f"attention {attention.min().item():.3f} to {attention.max().item():.3f}"
            )
    print(f"V moved by {(model.context.V.weight.detach() - start).abs().mean().item():.4f}")


if __name__ == "__main__":
    main()
