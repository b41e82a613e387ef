import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SDI(nn.Module):
    def __init__(self, channel):
        super().__init__()
        self.convs = nn.ModuleList(
            [nn.Conv2d(channel, channel, kernel_size=3, stride=1, padding=1)] * 3
        )

    def forward(self, xs, anchor):
        ans = torch.ones_like(anchor)
        size = anchor.shape[-1]
        for i, x in enumerate(xs):
            if x.shape[-1] > size:
                x = F.adaptive_avg_pool2d(x, (size, size))
            elif x.shape[-1] < size:
                x = F.interpolate(x, size=(size, size), mode="nearest")
            ans = ans * (1 + torch.tanh(self.convs[i](x)))
        return ans


class UNetV2(nn.Module):
    def __init__(self, channel=8, n_classes=2):
        super().__init__()
        self.enc1 = nn.Conv2d(1, channel, 3, padding=1)
        self.enc2 = nn.Conv2d(channel, channel, 3, stride=2, padding=1)
        self.enc3 = nn.Conv2d(channel, channel, 3, stride=2, padding=1)
        self.sdi = SDI(channel)
        self.seg_out = nn.Conv2d(channel, n_classes, 1)

    def forward(self, x):
        f1 = F.relu(self.enc1(x))
        f2 = F.relu(self.enc2(f1))
        f3 = F.relu(self.enc3(f2))
        return self.seg_out(self.sdi([f1, f2, f3], f1))


def scans(n):
    yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    cy, cx = torch.rand(n, 1, 1) * 10 + 3, torch.rand(n, 1, 1) * 10 + 3
    mask = ((yy - cy) ** 2 + (xx - cx) ** 2 < 12).long()
    img = mask.float().unsqueeze(1) * 0.8 + 0.6 * torch.randn(n, 1, 16, 16)
    return img, mask


def main():
    model = UNetV2()
    print("parameters", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    test_img, test_mask = scans(128)
    for step in range(160):
        img, mask = scans(32)
        loss = F.cross_entropy(model(img), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            with torch.no_grad():
                pred = model(test_img).argmax(1)
            dice = 2 * (pred * test_mask).sum() / (pred.sum() + test_mask.sum())
            print(f"step {step} loss {loss.item():.4f} dice {dice.item():.4f}")


if __name__ == "__main__":
    main()
