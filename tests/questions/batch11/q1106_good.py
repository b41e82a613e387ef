from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    d_model: int = 24
    n_dict: int = 96
    lr: float = 0.4
    batch_size: int = 32
    effective_batch_size: int = 256
    n_samples: int = 32 * 8 * 60
    sparsity: float = 1e-3

    @property
    def n_gradient_accumulation_steps(self):
        return self.effective_batch_size // self.batch_size


class SAE(nn.Module):
    def __init__(self, d_model, n_dict):
        super().__init__()
        self.encoder = nn.Linear(d_model, n_dict)
        self.decoder = nn.Linear(n_dict, d_model, bias=True)

    def forward(self, x):
        c = F.relu(self.encoder(x))
        return self.decoder(c), c


class Activations:
    """Sparse mixtures of fixed directions, as from one layer of a language model."""

    def __init__(self, d_model, n_features=48):
        self.directions = F.normalize(torch.randn(n_features, d_model), dim=1)

    def sample(self, n):
        active = (torch.rand(n, len(self.directions)) < 0.08).float()
        return (active * torch.rand_like(active)) @ self.directions * 6


def calc_loss(config, x, recon, codes):
    mse = F.mse_loss(recon, x)
    l1 = codes.abs().sum(-1).mean()
    return mse + config.sparsity * l1, {"mse": mse.item(), "l1": l1.item()}


def run_train(config):
    torch.manual_seed(0)
    acts = Activations(config.d_model)
    sae = SAE(config.d_model, config.n_dict)
    optimizer = torch.optim.SGD(sae.parameters(), lr=config.lr, momentum=0.9)
    n_steps = config.n_samples // config.batch_size
    optimizer.zero_grad()
    for i in range(1, n_steps + 1):
        x = acts.sample(config.batch_size)
        recon, codes = sae(x)
        loss, info = calc_loss(config, x, recon, codes)
        loss = loss / config.n_gradient_accumulation_steps
        loss.backward()
        if i % config.n_gradient_accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
        if i % 80 == 0:
            print(
                f"grad update {i // config.n_gradient_accumulation_steps}: mse {info['mse']:.4f}  l1 {info['l1']:.3f}"
            )


run_train(Config())
