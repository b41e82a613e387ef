import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class BinaryDiceLoss(nn.Module):
    def __init__(self, smooth=1e-5):
        super().__init__()
        self.smooth = smooth

    def forward(self, output, target):
        output = output.flatten(1)
        target = target.flatten(1)
        inter = (output * target).sum(dim=1)
        total = output.sum(dim=1) + target.sum(dim=1)
        return (1 - (2 * inter + self.smooth) / (total + self.smooth)).mean()


class DiceLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.dice = BinaryDiceLoss()

    def forward(self, output, target):
        output = F.softmax(output, dim=1)
        total = 0.0
        for i in range(target.shape[1]):
            total = total + self.dice(output[:, i], target[:, i])
        return total / target.shape[1]


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 3, 1),
        )

    def forward(self, x):
        return self.net(x)


def make_scans(n=16, size=20):
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for one in mask:
        for label in (1, 2):
            row, col = torch.randint(0, size - 5, (2,)).tolist()
            one[row : row + 5, col : col + 5] = label
    image = 0.8 * mask.float() + 0.35 * torch.randn(n, size, size)
    return image.unsqueeze(1), F.one_hot(mask, 3).permute(0, 3, 1, 2).float(), mask


def main():
    model, criterion = Segmenter(), DiceLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(1, 301):
        image, target, mask = make_scans()
        out = model(image)
        loss = criterion(out, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            organs = (out.argmax(1) == mask)[mask > 0].float().mean().item()
            print(f"step {step}: dice loss {loss.item():.3f} organ pixels found {organs:.3f}")


if __name__ == "__main__":
    main()
