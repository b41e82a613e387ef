import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def mlp(in_size, hidden, n_layers):
    channels = [in_size] + n_layers * [hidden]
    net = []
    for i in range(n_layers):
        net += [nn.Linear(channels[i], channels[i + 1]), nn.LayerNorm(channels[i + 1]), nn.LeakyReLU()]
    return nn.Sequential(*net)


class DDSP(nn.Module):
    def __init__(self, hidden=24, n_harmonic=12):
        super().__init__()
        self.in_mlps = nn.ModuleList([mlp(1, hidden, 3) for _ in range(2)])
        self.gru = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.out_mlp = mlp(hidden + 2, hidden, 3)
        self.proj = nn.Linear(hidden, n_harmonic)

    def forward(self, pitch, loudness):
        hidden = torch.cat([self.in_mlps[0](pitch), self.in_mlps[1](loudness)], -1)
        hidden = torch.cat([self.gru(hidden)[0], pitch, loudness], -1)
        return self.proj(self.out_mlp(hidden))


def make_batch(count=16, frames=24):
    pitch = torch.rand(count, frames, 1).cumsum(1) / frames
    loudness = torch.rand(count, frames, 1)
    harmonics = torch.arange(1.0, 13.0)
    return pitch, loudness, torch.sin(6 * pitch * harmonics) * torch.exp(-3 * loudness * harmonics / 12)


def main():
    model = DDSP()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for step in range(120):
        pitch, loudness, target = make_batch()
        loss = F.mse_loss(model(pitch, loudness), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 29:
            print(step, round(loss.item(), 4))
    print("parameters", sum(p.numel() for p in model.parameters()))
    print("two networks:", model.in_mlps[0] is not model.in_mlps[1])


main()
