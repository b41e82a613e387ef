import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class ScanNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


class OcclusionSensitivity:
    def __init__(self, model, size=4):
        self.model, self.size = model, size

    @torch.no_grad()
    def __call__(self, image, label):
        heat = torch.zeros(12 // self.size, 12 // self.size)
        for i in range(heat.shape[0]):
            for j in range(heat.shape[1]):
                masked = image.clone()
                masked[:, i * 4:i * 4 + 4, j * 4:j * 4 + 4] = 0.0
                heat[i, j] = self.model(masked.unsqueeze(0)).softmax(1)[0, label]
        return heat


def make_scans(n):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 1, 12, 12) * 0.5 * (torch.rand(n, 1, 1, 1) * 3 + 0.2)
    for k in range(n):
        c = int(y[k])
        x[k, 0, 2 + 3 * c:4 + 3 * c, 2:10] += 2.0 - c
        x[k, 0, :, 4 * c:4 * c + 2] += 1.5
    return x, y


train_loader = DataLoader(TensorDataset(*make_scans(900)), batch_size=30, shuffle=True)
x_val, y_val = make_scans(300)
model = ScanNet()
occlusion = OcclusionSensitivity(model)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(6):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    heat = occlusion(x_val[0] * 0.1, y_val[0])
    model.eval()
    with torch.no_grad():
        logits = model(x_val)
    acc = (logits.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} val loss {criterion(logits, y_val).item():.3f} "
          f"val acc {acc:.3f} heat max {heat.max().item():.2f}")
