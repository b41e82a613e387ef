import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
BANDS, SOURCES, N = 120, 4, 48
TV_PENALTY_CONSTANT = 0.5

grid = torch.linspace(0, 1, BANDS)
centres = torch.tensor([0.2, 0.4, 0.6, 0.85])
widths = torch.tensor([0.06, 0.1, 0.08, 0.05])
spectra = torch.exp(-((grid[:, None] - centres) / widths) ** 2)
abundance = torch.rand(N + 200, SOURCES) ** 2
clean = abundance @ spectra.t()
noisy = clean + 0.25 * torch.randn_like(clean)
trainloader = DataLoader(TensorDataset(noisy[:N]), batch_size=16, shuffle=True)


class Unmixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ENC = nn.Sequential(nn.Linear(BANDS, 24), nn.ReLU(), nn.Linear(24, SOURCES), nn.Softplus())
        self.DEC = nn.Linear(SOURCES, BANDS, bias=False)
        nn.init.uniform_(self.DEC.weight, 0.0, 0.5)

    def forward(self, x):
        a = self.ENC(x)
        return self.DEC(a), a


def TV_Penalty(layer):
    w = layer.weight.data
    return (w[1:] - w[:-1]).pow(2).mean() * TV_PENALTY_CONSTANT


def roughness(layer):
    w = layer.weight.detach()
    return ((w[1:] - w[:-1]).pow(2).mean() / w.pow(2).mean()).item()


net = Unmixer()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

for epoch in range(600):
    running = penalty = 0.0
    for (x,) in trainloader:
        optimizer.zero_grad()
        out, a = net(x)
        loss_mse = criterion(out, x)
        loss_tv = TV_Penalty(net.DEC)
        loss = loss_mse + loss_tv
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            net.DEC.weight.clamp_(min=0)
        running += loss_mse.item()
        penalty += loss_tv.item()
    if epoch % 150 == 149:
        print(f"epoch {epoch} mse {running / len(trainloader):.4f} penalty {penalty / len(trainloader):.5f}")

with torch.no_grad():
    out, _ = net(noisy[N:])
    err = criterion(out, clean[N:]).item()
print(f"roughness of the spectra {roughness(net.DEC):.4f}  error to the clean signal {err:.5f}")
