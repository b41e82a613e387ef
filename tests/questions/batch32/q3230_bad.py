import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Quantizer(nn.Module):
    def __init__(self, levels=8):
        super().__init__()
        self.levels = levels

    def forward(self, x):
        return torch.round(x * (self.levels - 1)) / (self.levels - 1)


class Codec(nn.Module):
    def __init__(self, dim=12, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, code), nn.Sigmoid())
        self.quantizer = Quantizer()
        self.decoder = nn.Sequential(nn.Linear(code, 48), nn.ReLU(), nn.Linear(48, dim))

    def forward(self, x):
        return self.decoder(self.quantizer(self.encoder(x)))


def signals(n, basis):
    return torch.randn(n, basis.size(0)) @ basis


def main():
    basis = torch.randn(4, 12)
    model = Codec()
    before = model.encoder[0].weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    test = signals(400, basis)
    for step in range(500):
        x = signals(64, basis)
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            with torch.no_grad():
                print(step, loss.item(), "test", F.mse_loss(model(test), test).item())
    print("moved by", (model.encoder[0].weight - before).abs().max().item())


if __name__ == "__main__":
    main()
