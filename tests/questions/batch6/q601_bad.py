import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class LogisticRegression(nn.Module):
    def __init__(self, input_dim, num_classes, bias=True, learning_rate=1e-2, l2_strength=0.0):
        super().__init__()
        self.learning_rate = learning_rate
        self.l2_strength = l2_strength
        self.num_classes = num_classes
        self.linear = nn.Linear(input_dim, num_classes, bias=bias)

    def forward(self, x):
        x = x.view(x.size(0), -1)
        x = self.linear(x)
        y_hat = F.softmax(x, dim=-1)
        return y_hat

    def training_step(self, batch):
        x, y = batch
        y_hat = self(x)
        loss = F.cross_entropy(y_hat, y, reduction="sum")
        if self.l2_strength > 0:
            loss = loss + self.l2_strength * self.linear.weight.pow(2).sum()
        return loss / x.size(0)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)


def make_data(n=1200, dim=20, classes=6):
    centers = 1.6 * torch.randn(classes, dim)
    labels = torch.randint(0, classes, (n,))
    return TensorDataset(centers[labels] + torch.randn(n, dim), labels)


loader = DataLoader(make_data(), batch_size=64, shuffle=True)
model = LogisticRegression(20, 6)
optimizer = model.configure_optimizers()
for epoch in range(1, 13):
    total = 0.0
    for batch in loader:
        loss = model.training_step(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")
