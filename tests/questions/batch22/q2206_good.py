import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
OUT, CLASSES = 64, 8


def make_images(n, size=24):
    label = torch.randint(CLASSES, (n,))
    t = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(t, t, indexing="ij")
    angle = label.float() * torch.pi / CLASSES
    phase = torch.rand(n) * 6.28
    wave = torch.cos(angle).view(-1, 1, 1) * xx + torch.sin(angle).view(-1, 1, 1) * yy
    img = torch.sin(9 * wave + phase.view(-1, 1, 1)).unsqueeze(1) * (0.6 + 0.4 * torch.rand(n, 1, 1, 1))
    return img + 0.7 * torch.randn(n, 1, size, size), label


def augment(x):
    dy, dx = torch.randint(-4, 5, (2,)).tolist()
    x = torch.roll(x, (dy, dx), dims=(2, 3))
    x = x * (0.6 + 0.8 * torch.rand(len(x), 1, 1, 1))
    return x + 0.2 * torch.randn_like(x)


def make_backbone(w=24):
    return nn.Sequential(
        nn.Conv2d(1, w, 5, stride=2, padding=2), nn.BatchNorm2d(w), nn.GELU(),
        nn.Conv2d(w, 2 * w, 3, stride=2, padding=1), nn.BatchNorm2d(2 * w), nn.GELU(),
        nn.Conv2d(2 * w, 2 * w, 3, stride=2, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Head(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, 96), nn.GELU(), nn.Linear(96, 32))
        self.last = nn.Linear(32, OUT, bias=False)

    def forward(self, x):
        return self.last(F.normalize(self.mlp(x), dim=-1))


class DINO(nn.Module):
    def __init__(self, encoder, dim=48):
        super().__init__()
        student_backbone = encoder
        teacher_backbone = copy.deepcopy(encoder)
        self.student = nn.Sequential(student_backbone, Head(dim))
        self.teacher = nn.Sequential(teacher_backbone, Head(dim))
        self.teacher[1].load_state_dict(self.student[1].state_dict())
        self.register_buffer("center", torch.zeros(1, OUT))

    def loss(self, student_out, teacher_out):
        target = F.softmax((teacher_out - self.center) / 0.04, dim=-1)
        a, b = target.chunk(2)
        s1, s2 = F.log_softmax(student_out / 0.1, dim=-1).chunk(2)
        self.center.mul_(0.9).add_(teacher_out.mean(dim=0, keepdim=True), alpha=0.1)
        return -0.5 * ((a * s2).sum(-1).mean() + (b * s1).sum(-1).mean())

    @torch.no_grad()
    def update_teacher(self, m):
        for ps, pt in zip(self.student.parameters(), self.teacher.parameters()):
            pt.mul_(m).add_(ps, alpha=1 - m)


@torch.no_grad()
def knn_accuracy(backbone, bank, bank_y, query, query_y, k=5):
    backbone.eval()
    f = F.normalize(backbone(bank), dim=1)
    q = F.normalize(backbone(query), dim=1)
    backbone.train()
    votes = bank_y[(q @ f.t()).topk(k, dim=1).indices]
    return (votes.mode(dim=1).values == query_y).float().mean().item()


images, labels = make_images(960)
test_images, test_labels = make_images(240)
model = DINO(make_backbone())
opt = torch.optim.AdamW(model.student.parameters(), lr=5e-4, weight_decay=1e-2)

for epoch in range(24):
    total = 0.0
    order = torch.randperm(len(images))
    for idx in order.split(64):
        views = torch.cat([augment(images[idx]), augment(images[idx])])
        with torch.no_grad():
            teacher_out = model.teacher(views)
        loss = model.loss(model.student(views), teacher_out)
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.update_teacher(0.99)
        total += loss.item()
    if epoch % 4 < 3:
        continue
    acc = knn_accuracy(model.teacher[0], images, labels, test_images, test_labels)
    print(f"epoch {epoch + 1}  loss {total / 15:.4f}  knn {acc:.4f}")
with torch.no_grad():
    out = F.softmax((model.teacher(test_images) - model.center) / 0.04, -1)
print("prototypes in use", int((out.argmax(1).bincount(minlength=OUT) > 0).sum()))
