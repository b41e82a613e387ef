import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class AT(nn.Module):
    """Attention transfer between feature maps."""

    def __init__(self, p=2):
        super().__init__()
        self.p = p

    def attention_map(self, fm):
        am = fm.abs().pow(self.p).sum(dim=1)
        return am / (am.flatten(1).norm(dim=1).view(-1, 1, 1) + 1e-6)

    def forward(self, fm_s, fm_t):
        return F.mse_loss(self.attention_map(fm_s), self.attention_map(fm_t))


class SmallNet(nn.Module):
    def __init__(self, width=12, classes=3):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.block2 = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.block3 = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(width * 16, classes)

    def forward(self, x):
        a1 = self.block1(x)
        a2 = self.block2(a1)
        a3 = self.block3(a2)
        return a1, a2, a3, self.fc(a3.flatten(1))


def make_images(n):
    target = torch.randint(0, 3, (n,))
    img = 0.2 * torch.randn(n, 1, 8, 8)
    for k, t in enumerate(target.tolist()):
        img[k, 0, 2 * t + 1 : 2 * t + 3, 1:7] += 1.0
    return img, target


def train_step(snet, tnet, criterionCls, criterionAT, optimizer, batches, betas):
    at_total = cls_total = 0.0
    for img, target in batches:
        activation1_s, activation2_s, activation3_s, output_s = snet(img)
        with torch.no_grad():
            activation1_t, activation2_t, activation3_t, _ = tnet(img)
        cls_loss = criterionCls(output_s, target)
        at3_loss = criterionAT(activation3_s, activation3_t) * betas[2]
        at2_loss = criterionAT(activation2_s, activation2_t) * betas[1]
        at1_loss = criterionAT(activation1_s, activation1_t) * betas[0]
        at_loss = at1_loss + at2_loss + at3_loss + cls_loss
        optimizer.zero_grad()
        at_loss.backward()
        optimizer.step()
        cls_total += cls_loss.item()
        at_total += (at1_loss + at2_loss + at3_loss).item()
    return cls_total / len(batches), at_total / len(batches)


def main():
    teacher = SmallNet()
    optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(40):
        img, target = make_images(32)
        loss = F.cross_entropy(teacher(img)[-1], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    teacher.eval()
    student = copy.deepcopy(teacher)
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.add_(0.15 * torch.randn_like(parameter))
    optimizer = torch.optim.SGD(student.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(1, 7):
        batches = [make_images(32) for _ in range(12)]
        cls_loss, at = train_step(
            student, teacher, nn.CrossEntropyLoss(), AT(), optimizer, batches, (50, 100, 100)
        )
        if epoch % 2 == 0:
            print(f"epoch {epoch}: cls {cls_loss:.4f} attention {at:.4f}")


if __name__ == "__main__":
    main()
