import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class REDCNN(nn.Module):
    def __init__(self, out_ch=12):
        super().__init__()
        self.conv_first = nn.Conv2d(1, out_ch, 5, padding=2)
        self.conv = nn.ModuleList(nn.Conv2d(out_ch, out_ch, 5, padding=2) for _ in range(4))
        self.conv_t = nn.ModuleList(nn.ConvTranspose2d(out_ch, out_ch, 5, padding=2) for _ in range(4))
        self.conv_t_last = nn.ConvTranspose2d(out_ch, 1, 5, padding=2)
        self.relu = nn.ReLU()

    def forward(self, x):
        residual_1 = x
        out = self.relu(self.conv_first(x))
        out = self.relu(self.conv[0](out))
        residual_2 = out
        out = self.relu(self.conv[1](out))
        out = self.relu(self.conv[2](out))
        residual_3 = out
        out = self.relu(self.conv[3](out))

        out = self.conv_t[0](out) + residual_3
        out = self.conv_t[1](self.relu(out))
        out = self.conv_t[2](self.relu(out)) + residual_2
        out = self.conv_t[3](self.relu(out))
        out = self.conv_t_last(self.relu(out)) + residual_1
        return self.relu(out)


def load_batch(n=8, size=20):
    grid = torch.linspace(0, 1, size)
    freq = torch.rand(n, 2, 1, 1) * 12 + 3
    phase = torch.rand(n, 1, 1) * 6
    image = torch.sin(freq[:, 0] * grid.view(1, -1, 1) + freq[:, 1] * grid.view(1, 1, -1) + phase)
    full_dose = ((image > 0).float() * 0.6 + 0.2).unsqueeze(1)
    return full_dose + 0.25 * torch.randn_like(full_dose), full_dose


model = REDCNN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(150):
    x, y = load_batch()
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 50 == 0:
        print(f"step {step + 1}: loss {loss.item():.5f}")

torch.manual_seed(1)
with torch.no_grad():
    x, y = load_batch(64)
    print(
        f"RMSE of the low-dose images {F.mse_loss(x, y).sqrt().item():.4f}, of the result {F.mse_loss(model(x), y).sqrt().item():.4f}"
    )
layers = sum(isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)) for m in model.modules())
print(f"layers with weights: {layers}, parameters: {sum(p.numel() for p in model.parameters())}")
