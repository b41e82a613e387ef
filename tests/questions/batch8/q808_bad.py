import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class GraphNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(10, dim),
            nn.BatchNorm1d(dim),
            nn.ReLU(),
            nn.Linear(dim, dim),
            nn.BatchNorm1d(dim),
            nn.ReLU(),
        )
        self.head = nn.Linear(dim, 1)

    def forward(self, nodes):
        return self.head(self.encoder(nodes).view(-1, 4, 32).mean(dim=1)).squeeze(-1)

    def freeze(self, module):
        for param in module.parameters():
            param.requires_grad = False
        for m in module.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.eval()


def batches(weights, shift, scale, count, graphs=32):
    for _ in range(count):
        nodes = shift + scale * torch.randn(graphs * 4, 10)
        yield nodes, torch.tanh(nodes @ weights).view(-1, 4).mean(dim=1)


def train(model, optimizer, loader):
    model.train()
    for nodes, y in loader:
        loss = F.mse_loss(model(nodes), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def embed(model, nodes):
    model.eval()
    with torch.no_grad():
        return model.encoder(nodes)


def main():
    weights = torch.randn(10) / 3
    model = GraphNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        print(f"pretraining {epoch}: {train(model, optimizer, batches(weights, 0.0, 1.0, 60)):.4f}")

    reference = torch.randn(64, 10)
    before = embed(model, reference)
    model.freeze(model.encoder)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    for epoch in range(3):
        loss = train(model, optimizer, batches(-weights, 1.5, 2.0, 40))
        moved = (embed(model, reference) - before).abs().max().item()
        print(f"fine-tuning {epoch}: loss {loss:.4f}, the frozen encoder's output has moved by {moved:.3f}")


if __name__ == "__main__":
    main()
