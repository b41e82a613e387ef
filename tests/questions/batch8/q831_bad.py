import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_molecules(n=1500):
    atoms = torch.randint(3, 30, (n,)).sort()[0].float()
    shape = torch.randn(n, 6)
    charge = torch.rand(n, 1)
    energy = (
        -0.8 * (atoms - 16) / 8
        + 0.6 * torch.tanh(shape[:, 0] * shape[:, 1]) * (atoms / 16)
        + 0.5 * charge[:, 0]
    )
    return torch.cat([(atoms.unsqueeze(1) - 16) / 8, shape, charge], dim=1), energy


class EnergyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class DataModule:
    def __init__(self, batch_size=30):
        x, energy = make_molecules()
        held_out = torch.arange(len(x)) % 5 == 0
        self.batch_size = batch_size
        self.train_dataset = TensorDataset(x[~held_out], energy[~held_out])
        self.val = x[held_out], energy[held_out]

    def train_dataloader(self):
        return DataLoader(self.train_dataset, batch_size=self.batch_size)


def main():
    data = DataModule()
    model = EnergyModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(10):
        total = 0.0
        for x, energy in data.train_dataloader():
            loss = F.mse_loss(model(x), energy)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        with torch.no_grad():
            val = F.mse_loss(model(data.val[0]), data.val[1]).item()
            small = F.mse_loss(model(data.val[0][:60]), data.val[1][:60]).item()
        print(
            f"epoch {epoch}: train {total / 40:.4f} val {val:.4f} val of the smallest molecules {small:.4f}"
        )


if __name__ == "__main__":
    main()
