import torch
import torch.nn as nn


class Conv2Plus1D(nn.Module):
    def __init__(self, cin, cmid, cout):
        super().__init__()
        self.spatial = nn.Conv3d(cin, cmid, (1, 3, 3), padding=(0, 1, 1))
        self.temporal = nn.Conv3d(cmid, cout, (3, 1, 1), padding=(1, 0, 0))
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self.spatial(x))
        x = self.temporal(x)
        return x


class ClipNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Conv2Plus1D(1, 12, 12)
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        h = self.block(x)
        return self.head(h.mean(dim=(2, 3, 4))).squeeze(1)


torch.manual_seed(0)
clips = torch.randn(400, 1, 4, 6, 6)
edges = torch.relu(clips[:, :, :, :, 1:] - clips[:, :, :, :, :-1])
target = edges.mean(dim=(1, 2, 3, 4))
target = (target - target.mean()) / target.std()

model = ClipNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()
for epoch in range(25):
    total = 0.0
    for idx in torch.randperm(320).split(40):
        optimizer.zero_grad()
        loss = criterion(model(clips[idx]), target[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 6 == 0:
        print(f"epoch {epoch} mse {total / 8:.4f}")
with torch.no_grad():
    print(f"test mse {criterion(model(clips[320:]), target[320:]).item():.4f}")
