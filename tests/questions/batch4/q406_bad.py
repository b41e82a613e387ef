import torch
from torch import nn

torch.manual_seed(0)

N_ATOMS = 5


def all_pairs():
    idx = torch.arange(N_ATOMS)
    src, dst = torch.meshgrid(idx, idx, indexing="ij")
    mask = src != dst
    return src[mask], dst[mask]


def create_directed_line_graph(src, dst, bond_vec, bond_dist):
    first, second = torch.nonzero(
        (src[:, None] == src[None, :]) & (dst[:, None] < dst[None, :]), as_tuple=True
    )
    vec = torch.stack([bond_vec[:, first], bond_vec[:, second]], 2)
    dist = torch.stack([bond_dist[:, first], bond_dist[:, second]], 2)
    return vec, dist


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.bond_net = nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, 1))
        self.angle_net = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 1))

    def energy(self, positions):
        src, dst = all_pairs()
        bond_vec = positions[:, dst] - positions[:, src]
        bond_dist = bond_vec.norm(dim=-1)
        energy = self.bond_net(bond_dist.unsqueeze(-1)).sum((1, 2))
        with torch.no_grad():
            lg_vec, lg_dist = create_directed_line_graph(src, dst, bond_vec, bond_dist)
        cosine = (lg_vec[:, :, 0] * lg_vec[:, :, 1]).sum(-1) / lg_dist.prod(-1)
        features = torch.cat([lg_dist, cosine.unsqueeze(-1)], -1)
        return energy + self.angle_net(features).sum((1, 2))

    def forward(self, positions):
        positions = positions.detach().requires_grad_(True)
        energy = self.energy(positions)
        forces = -torch.autograd.grad(energy.sum(), positions, create_graph=True)[0]
        return energy, forces


def reference(positions):
    positions = positions.detach().requires_grad_(True)
    src, dst = all_pairs()
    vec = positions[:, dst] - positions[:, src]
    dist = vec.norm(dim=-1)
    first, second = torch.nonzero(
        (src[:, None] == src[None, :]) & (dst[:, None] < dst[None, :]), as_tuple=True
    )
    cosine = (vec[:, first] * vec[:, second]).sum(-1) / (dist[:, first] * dist[:, second])
    energy = 0.1 * ((dist - 1.5) ** 2).sum(1) + 0.3 * ((cosine + 0.3) ** 2).sum(1)
    forces = -torch.autograd.grad(energy.sum(), positions)[0]
    return energy.detach(), forces


base = torch.randn(N_ATOMS, 3) * 1.2
positions = base + 0.25 * torch.randn(512, N_ATOMS, 3)
energies, forces = reference(positions)
shift = energies.mean()

model = Potential()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(20):
    e_sum = f_sum = 0.0
    for idx in torch.randperm(512).split(64):
        e, f = model(positions[idx])
        e_loss = (e - (energies[idx] - shift)).pow(2).mean()
        f_loss = (f - forces[idx]).pow(2).mean()
        loss = e_loss + 10 * f_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        e_sum += e_loss.item()
        f_sum += f_loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch}: energy error {e_sum / 8:.4f}, force error {f_sum / 8:.4f}")
