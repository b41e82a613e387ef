import torch
from torch import nn

torch.manual_seed(0)
n_points, size = 4, 24
grid_y, grid_x = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")


def gaussian_map(center, sigma=1.5):
    dx = grid_x - center[..., 0].view(*center.shape[:-1], 1, 1)
    dy = grid_y - center[..., 1].view(*center.shape[:-1], 1, 1)
    return torch.exp(-(dx**2 + dy**2) / (2 * sigma**2))


def load_batch(n=16):
    left, top = 3 + torch.rand(n) * 5, 3 + torch.rand(n) * 5
    right, bottom = 15 + torch.rand(n) * 5, 15 + torch.rand(n) * 5
    corners = torch.stack(
        [torch.stack(p, -1) for p in ((left, top), (right, top), (left, bottom), (right, bottom))], dim=1
    )
    on_x = (grid_x >= left.view(-1, 1, 1)) & (grid_x <= right.view(-1, 1, 1) + 1)
    on_y = (grid_y >= top.view(-1, 1, 1)) & (grid_y <= bottom.view(-1, 1, 1) + 1)
    image = (on_x & on_y).float() + 0.1 * torch.randn(n, size, size)
    return image.unsqueeze(1), gaussian_map(corners), corners


class BallTrackerNet(nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [], 1
        for out_channels in (16, 16, 16):
            layers += [
                nn.Conv2d(channels, out_channels, 3, padding=1),
                nn.ReLU(),
                nn.BatchNorm2d(out_channels),
            ]
            channels = out_channels
        self.features = nn.Sequential(*layers)
        self.head = nn.Conv2d(channels, n_points, 3, padding=1)

    def forward(self, x):
        return self.head(self.features(x))


def train(model, optimizer, criterion, steps):
    model.train()
    losses = []
    for _ in range(steps):
        image, heatmap, _ = load_batch()
        out = model(image)
        loss = criterion(torch.sigmoid(out), heatmap)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def val(model):
    model.eval()
    with torch.no_grad():
        image, _, corners = load_batch(128)
        peak = model(image).flatten(2).argmax(dim=-1)
    found = torch.stack([peak % size, peak // size], dim=-1).float()
    distance = (found - corners).norm(dim=-1)
    return (distance < 2).float().mean().item(), distance.median().item()


model = BallTrackerNet()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.999))
for epoch in range(6):
    train_loss = train(model, optimizer, criterion, steps=40)
    precision, median = val(model)
    print(
        f"epoch {epoch}: train_loss {train_loss:.4f}  precision {precision:.3f}  median error {median:.2f} px"
    )
