import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def resident_mb():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


class SceneCompletion(nn.Module):
    def __init__(self, depth=24):
        super().__init__()
        self.body = nn.ModuleList([nn.Linear(24, 24) for _ in range(depth)])
        self.semantic = nn.Linear(24, 5)
        self.completion = nn.Linear(24, 2)

    def forward(self, x):
        for layer in self.body:
            x = x + torch.tanh(layer(F.layer_norm(x, (24,))))
        return self.semantic(x), self.completion(x)

    def compute_loss(self, x, classes, occupied):
        semantic, completion = self(x)
        loss = {
            "semantic": F.cross_entropy(semantic, classes),
            "completion": F.cross_entropy(completion, occupied),
        }
        loss["total"] = loss["semantic"] + loss["completion"]
        return loss


def main():
    teacher = torch.randn(24, 5)
    model = SceneCompletion()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    tra_losses = {"semantic": 0.0, "completion": 0.0, "total": 0.0}
    print(f"start: {resident_mb():.0f} MB")
    for step in range(1, 601):
        x = torch.randn(16, 24)
        classes = (x @ teacher).argmax(1)
        loss = model.compute_loss(x, classes, (classes > 1).long())
        optimizer.zero_grad()
        loss["total"].backward()
        optimizer.step()
        for key in tra_losses:
            tra_losses[key] += loss[key].item()
        if step % 150 == 0:
            means = " ".join(f"{key} {float(value) / step:.3f}" for key, value in tra_losses.items())
            print(f"step {step}: {means}, {resident_mb():.0f} MB")


if __name__ == "__main__":
    main()
