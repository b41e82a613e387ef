import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class TopicRegressor(nn.Module):
    def __init__(self, n_peaks, n_topics):
        super().__init__()
        self.topic_peak = nn.Linear(n_peaks, n_topics, bias=False)
        self.head = nn.Linear(n_topics, 1)

    def forward(self, x):
        return self.head(self.topic_peak(x)).squeeze(1)


def make_data(n, n_peaks, coef):
    x = torch.randn(n, n_peaks)
    y = x[:, :6] @ coef + 0.5 * torch.randn(n)
    return x, y


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        mse = F.mse_loss(model(x), y).item()
    share = (model.topic_peak.weight.abs() < 0.01).float().mean().item()
    return mse, share


n_peaks, n_topics = 100, 4
coef = torch.tensor([2.0, -1.5, 1.0, 1.0, -2.0, 1.5])
x_train, y_train = make_data(160, n_peaks, coef)
x_test, y_test = make_data(1000, n_peaks, coef)

model = TopicRegressor(n_peaks, n_topics)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
l1_penalty, l2_penalty = 2e-2, 1e-3

for epoch in range(150):
    model.train()
    perm = torch.randperm(len(x_train))
    running = 0.0
    for idx in perm.split(32):
        optimizer.zero_grad()
        loss_fit = F.mse_loss(model(x_train[idx]), y_train[idx])
        weight = model.topic_peak.weight
        loss_norm = l1_penalty * weight.abs().sum() + l2_penalty * weight.pow(2).sum()
        loss = loss_fit + loss_norm
        loss.backward()
        optimizer.step()
        running += loss.item()
    if (epoch + 1) % 30 == 0:
        mse, share = evaluate(model, x_test, y_test)
        print(f"epoch {epoch + 1} train {running / 5:.3f} test mse {mse:.3f} small weights {share:.2f}")
