import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class GaussianModel(nn.Module):
    def _cumulative(self, inputs, stds, mu):
        eps = 1e-6
        upper = (inputs - mu + 0.5) / stds
        lower = (inputs - mu - 0.5) / stds
        likelihood = torch.special.ndtr(upper) - torch.special.ndtr(lower)
        return likelihood.clamp(min=eps)

    def forward(self, inputs, hyper_sigma, hyper_mu):
        return self._cumulative(inputs, hyper_sigma, hyper_mu)


class Compressor(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.analysis = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, channels))
        self.synthesis = nn.Sequential(nn.Linear(channels, 48), nn.ReLU(), nn.Linear(48, 32))
        self.hyper = nn.Sequential(nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, 2 * channels))
        self.entropy = GaussianModel()

    def forward(self, x):
        y = self.analysis(x)
        noisy = y + torch.rand_like(y) - 0.5
        mu, sigma = self.hyper(x).chunk(2, dim=1)
        likelihood = self.entropy(noisy, F.relu(sigma + 1.5), mu)
        bits = -torch.log2(likelihood).sum(dim=1).mean()
        return self.synthesis(noisy), bits


def main():
    mix = torch.randn(6, 32)
    model = Compressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1, 601):
        x = torch.randn(64, 6) @ mix
        restored, bits = model(x)
        loss = F.mse_loss(restored, x) + 0.02 * bits
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f} bits {bits.item():.3f}")


if __name__ == "__main__":
    main()
