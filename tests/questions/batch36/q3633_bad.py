import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
mixing = torch.randn(6, 40)


def make(count, noise=0.3):
    z = torch.randn(count, 6)
    x = torch.tanh(z @ mixing) + noise * torch.randn(count, 40)
    return x, z, (z[:, 0] + z[:, 1] > 0).long()


class Encoder(nn.Module):
    def __init__(self, frozen=False):
        super().__init__()
        self.fc1 = nn.Linear(40, 64)
        self.fc2 = nn.Linear(64, 16)
        self.project = nn.Linear(16, 6)
        if frozen:
            self.freeze()

    def freeze(self):
        for layer in (self.fc1, self.fc2, self.project):
            layer.requires_grad = False

    def forward(self, x):
        return self.project(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


pretrained = Encoder()
optimizer = torch.optim.Adam(pretrained.parameters(), lr=3e-3)
x, z, _ = make(4000)
for _ in range(300):
    idx = torch.randint(0, 4000, (128,))
    optimizer.zero_grad()
    F.mse_loss(pretrained(x[idx]), z[idx]).backward()
    optimizer.step()

encoder = Encoder(frozen=True)
encoder.load_state_dict(pretrained.state_dict())
head = nn.Linear(6, 2)
small_x, _, small_y = make(24)
flip = torch.rand(24) < 0.2
small_y = torch.where(flip, 1 - small_y, small_y)
test_x, test_z, test_y = make(1000)
optimizer = torch.optim.Adam(list(encoder.parameters()) + list(head.parameters()), lr=1e-2)
for step in range(1, 201):
    optimizer.zero_grad()
    loss = F.cross_entropy(head(encoder(small_x)), small_y)
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        with torch.no_grad():
            acc = (head(encoder(test_x)).argmax(1) == test_y).float().mean().item()
            features = F.mse_loss(encoder(test_x), test_z).item()
        print(f"step {step} loss {loss.item():.4f} test accuracy {acc:.3f} feature error {features:.3f}")
