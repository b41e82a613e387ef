import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_net(ch, classes):
    return nn.Sequential(
        nn.Conv2d(3, ch, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(ch, ch, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(ch, classes, 1),
    )


class StreetScenes:
    """Patches of coloured classes; the target domain has other colours in part."""

    def __init__(self, classes=5):
        self.palette = torch.rand(classes, 3) * 2 - 1
        self.shift = 0.25 * torch.randn(classes, 3)

    def batch(self, n, target_domain):
        lab = torch.randint(0, len(self.palette), (n, 4, 4))
        lab = lab.repeat_interleave(3, 1).repeat_interleave(3, 2)
        colours = self.palette + self.shift if target_domain else self.palette
        img = colours[lab].permute(0, 3, 1, 2)
        return img + 0.3 * torch.randn_like(img), lab


class AdaptationModel:
    def __init__(self, distillation, lr=0.02):
        self.student = conv_net(16, 5)
        self.teacher = conv_net(24, 5)
        self.distillation = distillation
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=lr, momentum=0.9)

    def fit_teacher(self, scenes, iters=120):
        opt = torch.optim.Adam(self.teacher.parameters(), lr=5e-3)
        for _ in range(iters):
            img, lab = scenes.batch(8, target_domain=True)
            loss = F.cross_entropy(self.teacher(img), lab)
            opt.zero_grad()
            loss.backward()
            opt.step()
        self.teacher.eval()

    def step(self, source, target):
        img_s, lab_s = source
        img_t, _ = target
        loss_ce = F.cross_entropy(self.student(img_s), lab_s)
        student = F.softmax(self.student(img_t), dim=1)
        with torch.no_grad():
            teacher = F.softmax(self.teacher(img_t), dim=1)
        loss_kd = F.kl_div(student, teacher, reduction="none")
        loss_kd = loss_kd.sum(dim=1).mean()
        loss = loss_ce + self.distillation * loss_kd
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss_ce.item(), loss_kd.item()


torch.manual_seed(17)
scenes = StreetScenes()
model = AdaptationModel(distillation=1.0)
model.fit_teacher(scenes)
for it in range(1, 201):
    ce, kd = model.step(scenes.batch(8, False), scenes.batch(8, True))
    if it % 40 == 0:
        with torch.no_grad():
            img, lab = scenes.batch(32, True)
            acc = (model.student(img).argmax(1) == lab).float().mean().item()
        print(f"iter {it}: ce {ce:.4f}  kd {kd:.4f}  target acc {acc:.3f}")
