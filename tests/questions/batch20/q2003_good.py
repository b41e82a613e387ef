import torch
import torch.nn as nn

torch.manual_seed(3)


class Classifier(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        return self.out(self.body(x))


class Task:
    def __init__(self):
        self.criterion = nn.BCEWithLogitsLoss(reduction="none")
        self.weight = torch.tensor([0.16, 0.84])

    def step(self, out, labels):
        labels = labels.float()
        w = self.weight[labels.long()].view_as(labels)
        loss = self.criterion(out[:, 1] - out[:, 0], labels)
        loss = (loss * w).mean()
        return out.detach().argmax(dim=1), loss


centre = torch.randn(20) * 0.3


def patients(n):
    y = (torch.rand(n) < 0.16).long()
    x = torch.randn(n, 20) + y[:, None] * centre[None]
    x[:, :4] = x[:, :4] * (1 + 0.5 * y[:, None])
    return x, y


xtr, ytr = patients(6000)
xva, yva = patients(2000)

model = Classifier()
task = Task()
opt = torch.optim.Adam(model.parameters(), lr=5e-4)

for epoch in range(8):
    model.train()
    total = 0.0
    for i in torch.randperm(len(xtr)).split(64):
        preds, loss = task.step(model(xtr[i]), ytr[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(i)
    print("epoch %d loss %.4f" % (epoch + 1, total / len(xtr)))

model.eval()
with torch.no_grad():
    pred = model(xva).argmax(dim=1)
tp = ((pred == 1) & (yva == 1)).sum().item()
tn = ((pred == 0) & (yva == 0)).sum().item()
print("predicted positive share %.3f" % pred.float().mean().item())
rec, spec = tp / (yva == 1).sum().item(), tn / (yva == 0).sum().item()
print("recall %.3f specificity %.3f balanced accuracy %.3f" % (rec, spec, (rec + spec) / 2))
