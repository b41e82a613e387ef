import gc

import torch
from torch import nn

torch.manual_seed(0)
obs_dim, seq_len = 2, 30


def load_batch(n=32):
    times = torch.cumsum(torch.rand(n, seq_len, 1) * 0.3, dim=1)
    phase = torch.rand(n, 1, obs_dim) * 6.28
    truth = torch.sin(times * torch.tensor([1.0, 1.7]) + phase)
    obs_valid = torch.rand(n, seq_len, 1) < 0.5
    obs = (truth + 0.1 * torch.randn_like(truth)) * obs_valid
    return torch.cat([obs, obs_valid.float(), times], dim=-1), truth, obs_valid


def gaussian_nll(mean, truth, var, mask):
    nll = 0.5 * (torch.log(2 * torch.pi * var) + (truth - mean) ** 2 / var)
    return (nll * mask).sum() / mask.sum()


def mse(truth, mean, mask):
    return (((truth - mean) ** 2) * mask).sum() / mask.sum()


class CRU(nn.Module):
    def __init__(self, latent=24):
        super().__init__()
        self.layer = nn.GRU(obs_dim + 2, latent, batch_first=True)
        self.mean, self.var = nn.Linear(latent, obs_dim), nn.Linear(latent, obs_dim)

    def forward(self, obs):
        hidden, _ = self.layer(obs)
        return self.mean(hidden), nn.functional.softplus(self.var(hidden)) + 1e-3

    def interpolation(self, data):
        obs, truth, obs_valid = data
        mean, var = self.forward(obs)
        mask_imput = (~obs_valid).float().expand_as(truth)
        loss = gaussian_nll(mean, truth, var, torch.ones_like(truth))
        imput_loss = gaussian_nll(mean, truth, var, mask_imput)
        return loss, imput_loss, mse(truth, mean, mask_imput)

    def train_epoch(self, batches, optimizer):
        epoch_ll = 0
        epoch_imput_ll = 0
        epoch_imput_mse = 0
        for _ in range(batches):
            loss, imput_loss, imput_mse = self.interpolation(load_batch())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_ll += loss.item()
            epoch_imput_ll += imput_loss.item()
            epoch_imput_mse += imput_mse.item()
        return epoch_ll / batches, epoch_imput_ll / batches, epoch_imput_mse / batches


def resident_mb():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 2**20


model = CRU()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
history = []
for epoch in range(6):
    history.append(model.train_epoch(50, optimizer))
    train_ll, train_imput_ll, train_imput_mse = history[-1]
    gc.collect()
    print(
        f"epoch {epoch}: nll {float(train_ll):.4f}  imputed nll {float(train_imput_ll):.4f}  "
        f"imputed mse {float(train_imput_mse):.4f}  memory {resident_mb():.0f} MB"
    )
