import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class SegNet(nn.Module):
    def __init__(self, width, classes=5):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        feat = self.backbone(x)
        return {"feat": feat, "out": self.head(feat)}


colours = torch.randn(5, 3)


def make_images(n):
    coarse = torch.randint(0, 5, (n, 4, 4))
    labels = coarse.repeat_interleave(4, 1).repeat_interleave(4, 2)
    images = colours[labels].permute(0, 3, 1, 2) + 1.2 * torch.randn(n, 3, 16, 16)
    return images, labels


teacher_model = SegNet(24)
optimizer = torch.optim.Adam(teacher_model.parameters(), lr=5e-3)
for _ in range(80):
    images, labels = make_images(16)
    loss = F.cross_entropy(teacher_model(images)["out"], labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"teacher: loss {loss.item():.4f}")
teacher_model.eval()

model = SegNet(16)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
distillation = 1.0
for step in range(160):
    target_image, _ = make_images(16)
    target_out = model(target_image)
    student = F.log_softmax(target_out["out"], dim=1)
    with torch.no_grad():
        teacher_out = teacher_model(target_image)
        teacher = F.softmax(teacher_out["out"], dim=1)
    loss_kd = F.kl_div(student, teacher, reduction="none")
    mask = (teacher != 250).float()
    loss_kd = (loss_kd * mask).sum() / mask.sum()
    loss = distillation * loss_kd
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 40 == 0:
        print(f"step {step + 1}: distillation loss {loss_kd.item():.4f}")

images, labels = make_images(64)
with torch.no_grad():
    out = model(images)["out"]
    gap = (out.softmax(1) - teacher_model(images)["out"].softmax(1)).abs().mean()
    print(
        f"student: cross entropy {F.cross_entropy(out, labels).item():.4f}, distance from the teacher {gap.item():.4f}"
    )
