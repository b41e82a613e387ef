import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(11)


def make_portraits(n, size=32):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cy, cx = torch.randint(8, size - 8, (2, n, 1, 1))
    r = torch.randint(4, 8, (n, 1, 1))
    mask = (((yy - cy) ** 2 + (xx - cx) ** 2) < r ** 2).float().unsqueeze(1)
    tone = torch.rand(n, 3, 1, 1) * 0.4 + 0.4
    image = torch.rand(n, 3, 1, 1) * 0.4 + mask * tone
    return image + 0.12 * torch.randn(n, 3, size, size), mask


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet3(nn.Module):
    def __init__(self, n_channels=3, n_classes=1, width=8):
        super().__init__()
        self.e1 = block(n_channels, width)
        self.e2 = block(width, width * 2)
        self.e3 = block(width * 2, width * 4)
        self.h1 = nn.Conv2d(width, width, 3, padding=1)
        self.h2 = nn.Conv2d(width * 2, width, 3, padding=1)
        self.h3 = nn.Conv2d(width * 4, width, 3, padding=1)
        self.fuse = block(width * 3, width * 2)
        self.outconv = nn.Conv2d(width * 2, n_classes, 3, padding=1)

    def forward(self, x):
        e1 = self.e1(x)
        e2 = self.e2(F.max_pool2d(e1, 2))
        e3 = self.e3(F.max_pool2d(e2, 2))
        up2 = F.interpolate(self.h2(e2), scale_factor=2, mode="bilinear", align_corners=False)
        up3 = F.interpolate(self.h3(e3), scale_factor=4, mode="bilinear", align_corners=False)
        d1 = self.outconv(self.fuse(torch.cat([self.h1(e1), up2, up3], dim=1)))
        return d1


@torch.no_grad()
def eval_net(net, loader):
    net.eval()
    inter = total = 0.0
    for img, mask in loader:
        pred = (torch.sigmoid(net(img)) > 0.5).float()
        inter += (pred * mask).sum().item()
        total += (pred + mask).sum().item()
    net.train()
    return 2 * inter / (total + 1e-6)


images, masks = make_portraits(240)
train, val = random_split(TensorDataset(images, masks), [200, 40])
train_loader = DataLoader(train, batch_size=10, shuffle=True)
val_loader = DataLoader(val, batch_size=20)

net = UNet3()
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, weight_decay=1e-8)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(8):
    epoch_loss = 0.0
    for img, mask in train_loader:
        masks_pred = net(img)
        loss = criterion(masks_pred, mask)
        epoch_loss += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}  loss {epoch_loss / len(train_loader):.4f}  val dice {eval_net(net, val_loader):.4f}")
