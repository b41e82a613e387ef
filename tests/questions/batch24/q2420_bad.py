import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)

mix = torch.randn(10, 32)


def domain(n, scale, shift):
    z = torch.randn(n, 10)
    shape = (z[:, 0] * z[:, 1] > 0).long()
    colour = (z[:, 2] + z[:, 3] > 0).long()
    x = (z @ mix) * scale + shift + 0.1 * torch.randn(n, 32)
    return x, shape, colour


first_x, first_shape, _ = domain(4000, 1.0, 0.0)
check_x, check_shape, _ = domain(1000, 1.0, 0.0)
second_x, _, second_colour = domain(1500, 2.5, 4.0)
second_val_x, _, second_val_colour = domain(1000, 2.5, 4.0)

backbone = nn.Sequential(
    nn.Linear(32, 96), nn.BatchNorm1d(96), nn.ReLU(),
    nn.Linear(96, 96), nn.BatchNorm1d(96), nn.ReLU(),
)
shape_head = nn.Linear(96, 2)
colour_head = nn.Linear(96, 2)
criterion = nn.CrossEntropyLoss()


def accuracy(head, x, y):
    backbone.eval()
    head.eval()
    with torch.no_grad():
        return (head(backbone(x)).argmax(dim=1) == y).float().mean().item()


optimizer = torch.optim.Adam([*backbone.parameters(), *shape_head.parameters()], lr=2e-3)
loader = DataLoader(TensorDataset(first_x, first_shape), batch_size=64, shuffle=True)
for epoch in range(15):
    backbone.train()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(shape_head(backbone(x)), y).backward()
        optimizer.step()
before = accuracy(shape_head, check_x, check_shape)
with torch.no_grad():
    features_before = backbone(check_x[:100])

for p in backbone.parameters():
    p.requires_grad = False

optimizer = torch.optim.Adam(colour_head.parameters(), lr=2e-3)
loader = DataLoader(TensorDataset(second_x, second_colour), batch_size=64, shuffle=True)
for epoch in range(10):
    backbone.train()
    colour_head.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(colour_head(backbone(x)), y)
        loss.backward()
        optimizer.step()

after = accuracy(shape_head, check_x, check_shape)
with torch.no_grad():
    moved = (backbone(check_x[:100]) - features_before).abs().mean().item()
print(f"colour accuracy on the second set {accuracy(colour_head, second_val_x, second_val_colour):.4f}")
print(f"mean change of the backbone's features {moved:.5f}")
print(f"shape accuracy before {before:.4f}  after {after:.4f}")
