import torch
import torch.nn as nn


class TwinAutoEncoder(nn.Module):
    def __init__(self, window=24, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(window, 16), nn.ReLU(), nn.Linear(16, latent), nn.ReLU())
        self.decoder1 = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, window), nn.Sigmoid())
        self.decoder2 = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, window), nn.Sigmoid())

    def forward(self, batch):
        z = self.encoder(batch)
        w1 = self.decoder1(z)
        return w1, self.decoder2(z), self.decoder2(self.encoder(w1))


def losses(model, batch, n, adversarial):
    w1, w2, w3 = model(batch)
    fooled = (batch - w3).pow(2).mean() * adversarial
    error1 = (batch - w1).pow(2).mean() / n + (1 - 1 / n) * fooled
    error2 = (batch - w2).pow(2).mean() / n - (1 - 1 / n) * fooled
    return error1, error2


def make_windows(n, window=24):
    t = torch.arange(window).float()
    phase, speed = 6.283 * torch.rand(n, 1), 0.4 + 0.2 * torch.rand(n, 1)
    return (0.5 + 0.35 * torch.sin(speed * t + phase) + 0.03 * torch.randn(n, window)).clamp(0, 1)


def fit(windows, adversarial, epochs=15):
    torch.manual_seed(1)
    model = TwinAutoEncoder(windows.shape[1])
    optimizer1 = torch.optim.Adam([*model.encoder.parameters(), *model.decoder1.parameters()], lr=2e-3)
    optimizer2 = torch.optim.Adam([*model.encoder.parameters(), *model.decoder2.parameters()], lr=2e-3)
    for n in range(1, epochs + 1):
        for batch in windows[torch.randperm(len(windows))].split(64):
            error1, error2 = losses(model, batch, n, adversarial)
            error1.backward(retain_graph=True)
            error2.backward()
            optimizer1.step()
            optimizer2.step()
            optimizer1.zero_grad()
            optimizer2.zero_grad()
    return model


def main():
    torch.manual_seed(0)
    windows, test = make_windows(1500), make_windows(300)
    for adversarial in (0.0, 1.0):
        model = fit(windows, adversarial)
        with torch.no_grad():
            w1, w2, w3 = model(test)
        by_ae1, by_ae2, on_fake = ((test - w).pow(2).mean().item() for w in (w1, w2, w3))
        print(
            f"weight of the adversarial term {adversarial}: AE1 on real {by_ae1:.5f}, AE2 on real {by_ae2:.5f}",
            end="",
        )
        print(f", AE2 on AE1's output {on_fake:.5f}")


if __name__ == "__main__":
    main()
