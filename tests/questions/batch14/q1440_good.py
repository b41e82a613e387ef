import torch
import torch.nn as nn

ATOMS = 5


class AtomicModel(nn.Module):
    """Energy of a cluster: a network of radial features for each atom, summed over the atoms."""

    def __init__(self, hidden=32):
        super().__init__()
        self.register_buffer("centers", torch.linspace(0.8, 3.0, 10))
        self.network = nn.Sequential(nn.Linear(10, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, coordinates):
        distance = pairs(coordinates)
        radial = torch.exp(-8 * (distance.unsqueeze(-1) - self.centers) ** 2).sum(dim=2)
        return self.network(radial).sum(dim=(1, 2))


def pairs(coordinates):
    keep = ~torch.eye(ATOMS, dtype=torch.bool)
    difference = (coordinates.unsqueeze(2) - coordinates.unsqueeze(1))[:, keep]
    return difference.norm(dim=-1).view(len(coordinates), ATOMS, ATOMS - 1)


def morse(coordinates):
    return 0.5 * ((1 - torch.exp(-2.0 * (pairs(coordinates) - 1.3))) ** 2 - 1).sum(dim=(1, 2))


def make_data(n, generator):
    base = torch.tensor([[0.0, 0, 0], [1.3, 0, 0], [0, 1.3, 0], [0, 0, 1.3], [1.2, 1.2, 1.2]])
    coordinates = base + 0.12 * torch.randn(n, ATOMS, 3, generator=generator)
    coordinates.requires_grad_()
    energies = morse(coordinates)
    forces = -torch.autograd.grad(energies.sum(), coordinates)[0]
    return coordinates.detach(), energies.detach(), forces


def rmse(model, data):
    coordinates, true_energies, true_forces = data
    coordinates = coordinates.clone().requires_grad_()
    energies = model(coordinates)
    forces = -torch.autograd.grad(energies.sum(), coordinates)[0]
    energy_error = (energies - true_energies).pow(2).mean().sqrt().item()
    return energy_error, (forces - true_forces).pow(2).mean().sqrt().item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    training, validation = make_data(48, generator), make_data(200, generator)
    model = AtomicModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    force_coefficient = 0.5
    for epoch in range(60):
        for rows in torch.randperm(48, generator=generator).split(8):
            coordinates, true_energies, true_forces = (part[rows] for part in training)
            coordinates.requires_grad_()
            predicted_energies = model(coordinates)
            forces = -torch.autograd.grad(predicted_energies.sum(), coordinates, create_graph=True)[0]
            energy_loss = (predicted_energies - true_energies).pow(2).mean()
            force_loss = (forces - true_forces).pow(2).mean()
            loss = energy_loss + force_coefficient * force_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 12 == 11:
            energy, force = rmse(model, validation)
            print(
                f"epoch {epoch}: energy loss {energy_loss.item():.4f} force loss {force_loss.item():.4f}, "
                f"validation rmse: energy {energy:.4f} force {force:.4f}"
            )


if __name__ == "__main__":
    main()
