import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)


def volumes(n, s=12):
    grid = torch.stack(torch.meshgrid(*[torch.arange(s)] * 3, indexing="ij")).float()
    centre = torch.rand(n, 3, 1, 1, 1) * 5 + 3.5
    radius = torch.rand(n, 1, 1, 1) * 2 + 1.5
    label = ((grid[None] - centre) ** 2).sum(1).sqrt() < radius
    image = label.float() + 0.8 * torch.randn(n, s, s, s)
    return image[:, None], label.float()[:, None]


class VNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.inp = nn.Conv3d(1, c, 3, padding=1)
        self.down = nn.Conv3d(c, 2 * c, 2, stride=2)
        self.mid = nn.Conv3d(2 * c, 2 * c, 3, padding=1)
        self.up = nn.ConvTranspose3d(2 * c, c, 2, stride=2)
        self.out = nn.Conv3d(2 * c, 1, 3, padding=1)
        self.act = nn.PReLU()

    def forward(self, x):
        a = self.act(self.inp(x))
        b = self.act(self.down(a))
        b = self.act(self.mid(b) + b)
        return torch.sigmoid(self.out(torch.cat([a, self.act(self.up(b))], 1)))


class DiceLoss(nn.Module):
    def forward(self, result, target):
        result, target = result.flatten(1), target.flatten(1)
        intersect = (result * target).sum(1)
        union = (result ** 2).sum(1) + (target ** 2).sum(1)
        dice = 2 * intersect / (union + 1e-5)
        return 1 - dice.mean(), dice.mean()


image, label = volumes(48)
val_image, val_label = volumes(12)
net = VNet()
criterion = DiceLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(8):
    net.train()
    train_dice, steps = 0.0, 0
    for idx in torch.randperm(48).split(4):
        optimizer.zero_grad()
        loss, dice = criterion(net(image[idx]), label[idx])
        loss.backward()
        optimizer.step()
        train_dice += dice.item()
        steps += 1
    net.eval()
    with torch.no_grad():
        val = [criterion(net(val_image[i:i + 1]), val_label[i:i + 1])[1].item() for i in range(12)]
    print(f"epoch {epoch} loss {loss.item():.4f} train dice {train_dice / steps:.4f} val dice {sum(val) / 12:.4f}")
