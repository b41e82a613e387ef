import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
nc, dim = 4, 12
means = torch.randn(nc, dim) * 1.2


def load_source(n=64):
    label = torch.randint(0, nc, (n,))
    return (means[label] + torch.randn(n, dim)) * 2 + 3, label


def load_target(n=64):
    label = torch.randint(0, nc, (n,))
    return (means[label] + torch.randn(n, dim)) * 2 + 4, label


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(dim, 32),
            nn.BatchNorm1d(32),
            nn.SiLU(),
            nn.Linear(32, 32),
            nn.BatchNorm1d(32),
            nn.SiLU(),
        )
        self.head = nn.Linear(32, nc)

    def forward(self, x):
        return self.head(self.backbone(x))


class WeightEMA:
    def __init__(self, params, src_params, alpha=0.98):
        self.params = list(params)
        self.src_params = list(src_params)
        self.alpha = alpha
        for p, src_p in zip(self.params, self.src_params):
            p.data.copy_(src_p.data)

    def step(self):
        for p, src_p in zip(self.params, self.src_params):
            p.data.mul_(self.alpha)
            p.data.add_(src_p.data * (1.0 - self.alpha))


def weights(model):
    return [t for t in model.state_dict().values() if t.is_floating_point()]


def accuracy(model, x, label):
    training = model.training
    model.eval()
    with torch.no_grad():
        result = (model(x).argmax(1) == label).float().mean().item()
    model.train(training)
    return result


student, teacher = Detector(), Detector()
teacher.eval().requires_grad_(False)
teacher_optimizer = WeightEMA(weights(teacher), weights(student))
student_optimizer = torch.optim.SGD(student.parameters(), lr=0.03, momentum=0.9)
test_x, test_label = load_target(1000)
for step in range(300):
    source_x, source_label = load_source()
    target_x, _ = load_target()
    pseudo = F.softmax(teacher(target_x), dim=1)
    confidence, pseudo_label = pseudo.max(dim=1)
    logits = student(torch.cat([source_x, target_x]))
    loss_source = F.cross_entropy(logits[:64], source_label)
    loss_distill = (F.cross_entropy(logits[64:], pseudo_label, reduction="none") * (confidence > 0.8)).mean()
    loss = loss_source + 0.5 * loss_distill
    student_optimizer.zero_grad()
    loss.backward()
    student_optimizer.step()
    teacher_optimizer.step()
    if (step + 1) % 100 == 0:
        print(
            f"step {step + 1}: loss {loss.item():.4f}  target accuracy: student "
            f"{accuracy(student, test_x, test_label):.3f}  teacher {accuracy(teacher, test_x, test_label):.3f}"
        )
