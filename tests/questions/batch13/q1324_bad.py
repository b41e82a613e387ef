import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Linear(24, width), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Linear(width, 32), nn.ReLU())
        self.head = nn.Linear(32, 6)

    def forward(self, x):
        return self.head(self.stage2(self.stage1(x)))


class FeatureCache:
    """Keeps what the second stage puts out, by a hook."""

    def __init__(self, model):
        self.features = []
        model.stage2.register_forward_hook(lambda module, args, out: self.features.append(out))

    def clear(self):
        self.features.clear()


class Distiller:
    def __init__(self, student, teacher):
        self.student, self.teacher = student, teacher
        self.student_cache, self.teacher_cache = FeatureCache(student), FeatureCache(teacher)

    def hierarchical_loss(self, x):
        self.student_cache.clear()
        self.teacher_cache.clear()
        with torch.no_grad():
            self.student(x)
            self.teacher(x)
        pairs = zip(self.student_cache.features, self.teacher_cache.features)
        return sum(F.mse_loss(s, t) for s, t in pairs)


def make_data(n, generator, rule):
    x = torch.randn(n, 24, generator=generator)
    return x, torch.tanh(x @ rule[0]).matmul(rule[1]).argmax(1)


def train(model, x, y, steps, extra=None, unlabeled=None):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(steps):
        loss = F.cross_entropy(model(x), y)
        if extra is not None:
            distill = extra(unlabeled)
            loss = loss + 5.0 * distill
            if step % 80 == 0:
                print(f"step {step}: loss {loss.item():.3f}  distance of the features {distill.item():.3f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    rule = (torch.randn(24, 8, generator=generator) / 5, torch.randn(8, 6, generator=generator))
    x, y = make_data(4000, generator, rule)
    test_x, test_y = make_data(1000, generator, rule)
    teacher, student = Net(96), Net(48)
    train(teacher, x, y, 200)
    teacher.requires_grad_(False)
    distiller = Distiller(student, teacher)
    train(student, x[:150], y[:150], 321, distiller.hierarchical_loss, x[:1500])
    for name, net in (("teacher", teacher), ("student", student)):
        print(f"{name}: test accuracy {(net(test_x).argmax(1) == test_y).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
