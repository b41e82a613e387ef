import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def create_model(width, dropout):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, width * 2, 3, padding=1), nn.BatchNorm2d(width * 2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(dropout), nn.Linear(width * 8, 6),
    )  # fmt: skip


templates = torch.randn(6, 1, 10, 10)


def load_batch(n=48):
    label = torch.randint(0, 6, (n,))
    return templates[label] + 1.2 * torch.randn(n, 1, 10, 10), label


class TrainingModule(nn.Module):
    def __init__(self, model):
        super().__init__()
        self._model = model

    def forward(self, images):
        return self._model(images)

    def training_step(self, batch):
        images, labels = batch
        return F.cross_entropy(self(images), labels)


class DistilledTrainingModule(TrainingModule):
    def __init__(self, student, teacher):
        super().__init__(student)
        self._teacher_model = teacher
        for param in self._teacher_model.parameters():
            param.requires_grad = False

    def training_step(self, batch):
        images, _ = batch
        y_hat_student = self(images)
        y_hat_teacher = self._teacher_model(images)
        return F.mse_loss(y_hat_student, y_hat_teacher)


def accuracy(model, batch):
    model.eval()
    with torch.no_grad():
        return (model(batch[0]).argmax(1) == batch[1]).float().mean().item()


def fit(module, steps, name):
    optimizer = torch.optim.Adam(module._model.parameters(), lr=3e-3)
    module.train()
    for step in range(steps):
        loss = module.training_step(load_batch())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % (steps // 3) == 0:
            print(f"{name} step {step + 1}: loss {loss.item():.3f}")


val = load_batch(1000)
teacher = create_model(16, dropout=0.5)
fit(TrainingModule(teacher), 150, "teacher")
print(f"teacher accuracy {accuracy(teacher, val):.3f}")
teacher.eval()
with torch.no_grad():
    logits = teacher(val[0])

student = create_model(6, dropout=0.0)
fit(DistilledTrainingModule(student, teacher), 300, "student")
print(f"student accuracy {accuracy(student, val):.3f}")
teacher.eval()
with torch.no_grad():
    drift = F.mse_loss(teacher(val[0]), logits).item()
    gap = F.mse_loss(student.eval()(val[0]), logits).item()
print(f"teacher against itself before the distillation: {drift:.4f}; student against the teacher: {gap:.3f}")
