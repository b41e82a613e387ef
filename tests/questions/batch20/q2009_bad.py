import torch
import torch.nn as nn

torch.manual_seed(12)
N_FEAT, N_JOINTS, PAST = 13, 6, 20


def recordings(n):
    x = torch.randn(n, PAST, N_FEAT)
    for t in range(1, PAST):
        x[:, t] = 0.5 * x[:, t - 1] + 0.85 * x[:, t]
    return x


mix = torch.randn(N_FEAT, N_JOINTS) / N_FEAT ** 0.5


def gestures(x):
    weight = torch.linspace(0.2, 1.0, PAST)
    weight[-4:] = 0.0
    pooled = (x * weight[None, :, None]).sum(1) / weight.sum() ** 0.5
    return torch.tanh(pooled @ mix)


class SpeechToGesture(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.norm = nn.LayerNorm(N_FEAT)
        self.encoder = nn.GRU(N_FEAT, hidden, num_layers=1)
        self.decoder = nn.Sequential(nn.Linear(hidden, 64), nn.Tanh(), nn.Dropout(0.05), nn.Linear(64, N_JOINTS))

    def forward(self, speech):
        encoded, _ = self.encoder(self.norm(speech))
        return self.decoder(encoded[:, -1, :])


speech, val_speech = recordings(2048), recordings(512)
motion, val_motion = gestures(speech), gestures(val_speech)
model = SpeechToGesture()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()

for epoch in range(25):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(speech)).split(64):
        opt.zero_grad()
        loss = criterion(model(speech[idx]), motion[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            val = criterion(model(val_speech), val_motion).item()
        print(f"epoch {epoch + 1:2d} train {total / len(speech):.4f} val {val:.4f}")

model.eval()
with torch.no_grad():
    pred = model(val_speech)
    err = (pred - val_motion).pow(2).mean()
    base = (val_motion - val_motion.mean(0)).pow(2).mean()
print(f"val mse {err.item():.4f}  variance of the targets {base.item():.4f}  r2 {1 - (err / base).item():.3f}")
