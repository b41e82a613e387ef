import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SimpleMLP(nn.Module):
    def __init__(self, dim=16, hidden=64, num_classes=9):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.classifier = nn.Linear(hidden, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x))


class LwF:
    def __init__(self, alpha=1.0, temperature=2.0):
        self.alpha = alpha
        self.temperature = temperature
        self.prev_model = None
        self.seen = set()

    def _distillation_loss(self, out, prev_out):
        au = sorted(self.seen)
        log_p = torch.log_softmax(out / self.temperature, dim=1)[:, au]
        q = torch.softmax(prev_out / self.temperature, dim=1)[:, au]
        return F.kl_div(log_p, q, reduction="batchmean")

    def penalty(self, x, out):
        if self.prev_model is None:
            return torch.zeros(())
        with torch.no_grad():
            prev_out = self.prev_model(x)
        return self.alpha * self._distillation_loss(out, prev_out)

    def after_experience(self, model, classes):
        self.prev_model = copy.deepcopy(model).eval()
        self.seen.update(classes)


def experience(classes, centers, n=240):
    y = torch.tensor(classes)[torch.randint(0, len(classes), (n,))]
    return centers[y] + 0.8 * torch.randn(n, 16), y


centers = torch.randn(9, 16)
stream = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
test_sets = [experience(c, centers) for c in stream]
model, lwf = SimpleMLP(), LwF()
memory_x, memory_y = torch.empty(0, 16), torch.empty(0, dtype=torch.long)

for exp_id, classes in enumerate(stream):
    x, y = experience(classes, centers, 240 if exp_id == 0 else 120)
    data_x, data_y = torch.cat([x, memory_x]), torch.cat([y, memory_y])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for epoch in range(3 if exp_id == 0 else 12):
        total, pen_total, batches = 0.0, 0.0, 0
        for idx in torch.randperm(len(data_x)).split(40):
            out = model(data_x[idx])
            pen = lwf.penalty(data_x[idx], out)
            loss = F.cross_entropy(out, data_y[idx]) + pen
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, pen_total, batches = total + loss.item(), pen_total + pen.item(), batches + 1
    keep = torch.randperm(len(x))[:240]
    memory_x, memory_y = torch.cat([memory_x, x[keep]]), torch.cat([memory_y, y[keep]])
    lwf.after_experience(model, classes)
    with torch.no_grad():
        accs = [
            f"{(model(tx).argmax(1) == ty).float().mean().item():.3f}" for tx, ty in test_sets[: exp_id + 1]
        ]
    print(
        f"experience {exp_id}  loss {total / batches:.4f}  lwf penalty {pen_total / batches:.4f}  acc {accs}"
    )
