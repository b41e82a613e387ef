import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ProjectionHead(nn.Module):
    def __init__(self, dim=32, out=48, freeze_last_layer=1):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, 48), nn.GELU(), nn.Linear(48, 24))
        self.last_layer = nn.Linear(24, out, bias=False)
        self.freeze_last_layer = freeze_last_layer

    def cancel_last_layer_gradients(self, current_epoch):
        if current_epoch >= self.freeze_last_layer:
            return
        for param in self.last_layer.parameters():
            param.grad = None

    def forward(self, x):
        return self.last_layer(F.normalize(self.mlp(x), dim=-1))


class DINO(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32))
        self.head = ProjectionHead()
        self.teacher_backbone = copy.deepcopy(self.backbone)
        self.teacher_head = copy.deepcopy(self.head)
        for p in [*self.teacher_backbone.parameters(), *self.teacher_head.parameters()]:
            p.requires_grad = False

    def forward(self, x):
        return self.head(self.backbone(x))

    @torch.no_grad()
    def forward_teacher(self, x):
        return self.teacher_head(self.teacher_backbone(x))

    @torch.no_grad()
    def update_teacher(self, m=0.99):
        for s, t in [(self.backbone, self.teacher_backbone), (self.head, self.teacher_head)]:
            for ps, pt in zip(s.parameters(), t.parameters()):
                pt.mul_(m).add_(ps, alpha=1 - m)


model = DINO()
student = [*model.backbone.parameters(), *model.head.parameters()]
optimizer = torch.optim.SGD(student, lr=0.3, momentum=0.9)
center = torch.zeros(48)
images = torch.randn(5, 20)[torch.randint(5, (512,))] + 0.4 * torch.randn(512, 20)
start = model.head.last_layer.weight.detach().clone()
for epoch in range(3):
    total = 0.0
    for x in images[torch.randperm(512)].split(32):
        v1, v2 = x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x)
        t_out = model.forward_teacher(v1)
        target = F.softmax((t_out - center) / 0.04, dim=-1)
        loss = -(target * F.log_softmax(model(v2) / 0.1, dim=-1)).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        model.teacher_head.cancel_last_layer_gradients(current_epoch=epoch)
        optimizer.step()
        model.update_teacher()
        center = 0.9 * center + 0.1 * t_out.mean(0)
        total += loss.item() / 16
    moved = (model.head.last_layer.weight - start).norm().item()
    print(f"epoch {epoch}  loss {total:.4f}  last layer moved by {moved:.4f}"
          + ("  (frozen in this epoch)" if epoch < 1 else ""))
