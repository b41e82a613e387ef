import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(33)


def squash(s, dim=-1):
    norm2 = (s**2).sum(dim, keepdim=True)
    return norm2 / (1 + norm2) * s / torch.sqrt(norm2 + 1e-8)


class DigitCaps(nn.Module):
    def __init__(self, n_in=36, in_dim=8, n_out=5, out_dim=8, n_routing=3):
        super().__init__()
        self.n_routing = n_routing
        self.W = nn.Parameter(0.2 * torch.randn(1, n_in, n_out, out_dim, in_dim))

    def forward(self, u):
        u_hat = (self.W @ u[:, :, None, :, None]).squeeze(-1)
        b_ij = torch.zeros(1, u_hat.size(1), u_hat.size(2), 1)
        for iteration in range(self.n_routing):
            c_ij = F.softmax(b_ij, dim=2)
            s_j = (c_ij * u_hat).sum(1, keepdim=True)
            v_j = squash(s_j)
            if iteration + 1 < self.n_routing:
                b_ij = b_ij + (u_hat * v_j).sum(-1, keepdim=True).mean(0, keepdim=True)
        return v_j.squeeze(1)


class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3)
        self.primary = nn.Conv2d(16, 32, 4, stride=2)
        self.digits = DigitCaps()

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = self.primary(x).view(len(x), 4, 8, 9).permute(0, 1, 3, 2).reshape(len(x), 36, 8)
        return self.digits(squash(x)).norm(dim=-1)


def margin_loss(lengths, labels):
    target = F.one_hot(labels, lengths.size(1)).float()
    present = target * F.relu(0.9 - lengths) ** 2
    absent = 0.5 * (1 - target) * F.relu(lengths - 0.1) ** 2
    return (present + absent).sum(1).mean()


patterns = torch.rand(5, 1, 10, 10)
model = CapsNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(150):
    labels = torch.randint(0, 5, (32,))
    images = patterns[labels] + 0.4 * torch.randn(32, 1, 10, 10)
    lengths = model(images)
    loss = margin_loss(lengths, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0 or step == 149:
        print(
            f"step {step}: loss {loss.item():.4f} accuracy {(lengths.argmax(1) == labels).float().mean():.3f}"
        )
