import torch
from torch import nn

torch.manual_seed(0)


class Chain(nn.Module):
    """Sites with adjustable energies; an electron hops between neighbours, with either spin."""

    def __init__(self, sites):
        super().__init__()
        self.sites = sites
        self.energy = nn.Parameter(0.1 * torch.randn(sites))
        self.hopping = nn.Parameter(torch.ones(sites - 1))

    def one_spin(self):
        hop = torch.diag(self.hopping, 1)
        return torch.diag(self.energy) - hop - hop.T

    def density(self):
        hamiltonian = self.one_spin()
        energies, states = torch.linalg.eigh(hamiltonian)
        ground = states[:, torch.argmin(energies)]
        return ground.reshape(self.sites, -1).pow(2).sum(1)


wanted = torch.tensor([0.05, 0.10, 0.20, 0.40, 0.15, 0.10])
chain = Chain(6)
optimizer = torch.optim.Adam(chain.parameters(), lr=0.02)
for step in range(1, 301):
    loss = (chain.density() - wanted).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.6f}")
