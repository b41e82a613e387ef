import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        code = torch.randn(n, 3, generator=g)
        basis = torch.randn(3, 24, generator=torch.Generator().manual_seed(1))
        self.clean = torch.tanh(code @ basis)
        self.rng = torch.Generator().manual_seed(seed + 1)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        clean = self.clean[i]
        noise = torch.randn(clean.shape, generator=self.rng)
        return clean + 0.8 * noise, clean, noise


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 24))

    def forward(self, x):
        return self.net(x)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train, test = Noisy(120, 2), Noisy(1000, 5)
    model = Denoiser()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    loader = DataLoader(train, batch_size=20, shuffle=False, num_workers=2,
                        generator=torch.Generator().manual_seed(3))
    seen = []
    for epoch in range(60):
        total = 0.0
        for noisy, clean, noise in loader:
            loss = F.mse_loss(model(noisy), clean)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            seen.append(noise[:, 0].clone())
    drawn = torch.cat(seen)
    g = torch.Generator().manual_seed(77)
    with torch.no_grad():
        x = test.clean + 0.8 * torch.randn(test.clean.shape, generator=g)
        err = F.mse_loss(model(x), test.clean)
    print(f"training loss {total / len(loader):.4f} test loss {err.item():.4f}")
    print(f"different noise vectors {len(drawn.unique())} of {len(drawn)}")
    print("weights", repr(sum(p.double().sum().item() for p in model.parameters())))


if __name__ == "__main__":
    main()
