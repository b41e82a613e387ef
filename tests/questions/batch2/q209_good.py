import itertools
import math

import torch


class KSpacePotential:
    """Long range part of the energy as a sum over reciprocal lattice vectors."""

    def __init__(self, smearing=1.0, kmax=2):
        self.smearing = smearing
        n = [v for v in itertools.product(range(-kmax, kmax + 1), repeat=3) if any(v)]
        self._n = torch.tensor(n, dtype=torch.float64)
        self._cell_cache = None

    def generate_kvectors(self, cell):
        return 2 * math.pi * self._n @ torch.linalg.inv(cell).T

    def influence(self, kvectors):
        k2 = (kvectors**2).sum(-1)
        return 4 * math.pi * torch.exp(-0.5 * self.smearing**2 * k2) / k2

    def _update_cache(self, cell):
        if self._cell_cache is None or cell.requires_grad or not torch.equal(cell, self._cell_cache):
            self._cell_cache = cell.detach().clone()
            self._kvectors = self.generate_kvectors(cell)
            self._influence = self.influence(self._kvectors)

    def __call__(self, positions, charges, cell):
        self._update_cache(cell)
        phase = positions @ self._kvectors.T
        real = (charges * torch.cos(phase)).sum(0)
        imag = (charges * torch.sin(phase)).sum(0)
        volume = torch.det(cell).abs()
        return 0.5 * (self._influence * (real**2 + imag**2)).sum() / volume


def relax(calculator, steps=20):
    positions = (5 * torch.rand(12, 3, dtype=torch.float64)).requires_grad_()
    charges = torch.ones(12, 1, dtype=torch.float64)
    charges[::2] = -1.0
    cell = (5 * torch.eye(3, dtype=torch.float64)).requires_grad_()
    optimizer = torch.optim.SGD([positions], lr=0.05)
    for step in range(steps):
        optimizer.zero_grad()
        cell.grad = None
        energy = calculator(positions, charges, cell)
        energy.backward()
        stress = cell.grad.diagonal().sum() / torch.det(cell.detach())
        optimizer.step()
        print(f"step {step} energy {energy.item():.6f} pressure {stress.item():.6f}")


torch.manual_seed(0)
relax(KSpacePotential())
