import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ConvNP(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(2, channels, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(channels, channels, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(channels, 2, 5, padding=2),
        )

    def forward(self, context):
        mean, raw = self.body(context).chunk(2, dim=1)
        return mean, F.softplus(raw) + 0.05


def loss_fn(model, task):
    context, target = task
    mean, std = model(context)
    return -torch.distributions.Normal(mean, std).log_prob(target).mean()


def train_epoch(model, tasks, lr=5e-3, batch_size=2):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for start in range(0, len(tasks), batch_size):
        opt.zero_grad()
        loss = torch.stack([loss_fn(model, task) for task in tasks[start : start + batch_size]]).mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def make_task():
    x = torch.linspace(0, 6.28, 64)
    frequency, phase = 1 + 2 * torch.rand(1), 6.28 * torch.rand(1)
    field = torch.sin(frequency * x + phase)
    density = (torch.rand(64) < 0.4).float()
    context = torch.stack([field * density, density])
    return context.unsqueeze(0), field.view(1, 1, -1)


model = ConvNP()
for epoch in range(1, 61):
    tasks = [make_task() for _ in range(8)]
    batch_losses = train_epoch(model, tasks)
    if epoch % 10 == 0:
        print(f"epoch {epoch}: loss {sum(batch_losses) / len(batch_losses):.4f}")
