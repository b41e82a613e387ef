import torch
import torch.nn as nn
import torch.nn.functional as F


class Yolo(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, channels, 3, stride=2, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.LeakyReLU(0.1),
        )
        self.head = nn.Conv2d(channels, 5, 1)

    def forward(self, x):
        feature = self.backbone(x)
        return self.head(feature), feature


def det_loss(pred, target):
    obj = target[:, :1]
    box = (F.smooth_l1_loss(pred[:, 1:], target[:, 1:], reduction="none") * obj).sum() / obj.sum()
    return F.binary_cross_entropy_with_logits(pred[:, :1], obj) + box


def make_images(n, size=12):
    half = size // 2
    obj = (torch.rand(n, 1, half, half) < 0.15).float()
    box = torch.rand(n, 4, half, half)
    paint = torch.cat([box[:, :2], box[:, 2:3] * box[:, 3:]], 1) + 1
    images = F.interpolate(obj * paint, scale_factor=2) + 0.1 * torch.randn(n, 3, size, size)
    return images, torch.cat([obj, box], 1)


def fit(model, images, target, steps, lr=5e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        rows = torch.randint(len(images), (16,))
        loss = det_loss(model(images[rows])[0], target[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    images, target = make_images(320)
    teacher = Yolo(32)
    print(f"teacher: loss {fit(teacher, images, target, 200):.3f}")
    teacher.eval().requires_grad_(False)

    student = Yolo(6)
    s_converter = nn.Sequential(nn.Conv2d(6, 32, 1), nn.LeakyReLU(0.1))
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
    det = feature = 0.0
    for step in range(1, 301):
        rows = torch.randint(len(images), (16,))
        pred, s_feature = student(images[rows])
        _, t_feature = teacher(images[rows])
        loss_det = det_loss(pred, target[rows])
        loss_feature = F.mse_loss(s_converter(s_feature), t_feature)
        optimizer.zero_grad()
        (loss_det + loss_feature).backward()
        optimizer.step()
        det, feature = det + loss_det.item() / 60, feature + loss_feature.item() / 60
        if step % 60 == 0:
            print(f"step {step}: detection {det:.3f}  feature {feature:.4f}")
            det = feature = 0.0


if __name__ == "__main__":
    main()
