import torch
import torch.nn as nn
import torch.nn.functional as F


class RecordingProbe:
    def __init__(self):
        self.features = {}

    def __call__(self, name):
        def hook(module, inp, out):
            self.features[name] = out.detach()

        return hook


class PerceptualLoss(nn.Module):
    def __init__(self, percept, names):
        super().__init__()
        self.percept = percept.eval().requires_grad_(False)
        self.probe = RecordingProbe()
        for name, module in self.percept.named_modules():
            if name in names:
                module.register_forward_hook(self.probe(name))

    def record(self, video):
        self.percept(video)
        features, self.probe.features = self.probe.features, {}
        return features

    def forward(self, rec, inp):
        fake, real = self.record(rec), self.record(inp)
        return sum(F.mse_loss(fake[k], real[k]) for k in real) / len(real)


def make_images(n, side=16):
    axis = torch.linspace(0, 1, side)
    v, u = axis.view(1, 1, -1, 1), axis.view(1, 1, 1, -1)
    a, b, c, d = torch.randn(4, n, 1, 1, 1)
    shade = a * u + b * v + c * u * v + d * torch.sin(3 * u + 2 * v)
    lines = torch.sin(22 * u + 6.28 * torch.rand(n, 1, 1, 1))
    return shade + 0.25 * lines


class Tokenizer(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(256, 192), nn.GELU(), nn.Linear(192, dim))
        self.dec = nn.Sequential(nn.Linear(dim, 192), nn.GELU(), nn.Linear(192, 256))

    def forward(self, x):
        return self.dec(self.enc(x)).view_as(x)


def main():
    torch.manual_seed(0)
    percept = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU()
    )
    with torch.no_grad():
        for conv in (percept[0], percept[2]):
            conv.weight.sub_(conv.weight.mean(dim=(2, 3), keepdim=True)).mul_(3.0)
    images, test = make_images(1200), make_images(200)
    perc_loss = PerceptualLoss(percept, names=("1", "3"))
    tokenizer = Tokenizer()
    optimizer = torch.optim.Adam(tokenizer.parameters(), lr=2e-3)
    for epoch in range(1, 6):
        for rows in torch.randperm(len(images)).split(40):
            rec = tokenizer(images[rows])
            loss = 0.02 * F.mse_loss(rec, images[rows]) + 1.0 * perc_loss(rec, images[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            rec = tokenizer(test)
            print(
                f"epoch {epoch}: reconstruction {F.mse_loss(rec, test):.4f}  perceptual {perc_loss(rec, test):.4f}"
            )


if __name__ == "__main__":
    main()
