import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class TwoScales(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_16 = nn.Conv1d(1, 8, 3, padding=1)
        self.conv_32 = nn.Conv1d(1, 8, 5, padding=2)
        self.fc_last_1 = nn.Linear(16, 32)
        self.fc_last_2 = nn.Linear(32, 1)

    def forward(self, input_16, input_32):
        out_16 = F.relu(self.conv_16(input_16)).mean(-1)
        out_32 = F.relu(self.conv_32(input_32)).mean(-1)
        out = torch.cat([out_16, out_32], dim=1)
        out = F.relu(self.fc_last_1(out))
        out = F.relu(self.fc_last_2(out))
        return out


def make_batch(n):
    label = torch.randint(0, 2, (n, 1)).float()
    speed = 0.3 + 0.5 * label
    fine = torch.sin(speed * torch.arange(32) + 6.28 * torch.rand(n, 1)) + 0.3 * torch.randn(n, 32)
    return fine[:, None, ::2], fine[:, None, :], label


model = TwoScales()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(1, 401):
    batch_16, batch_32, batch_label = make_batch(64)
    output = torch.sigmoid(model(batch_16, batch_32))
    loss = criterion(output, batch_label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 200 == 0:
        accuracy = ((output > 0.5).float() == batch_label).float().mean().item()
        print(f"step {step}: loss {loss.item():.4f}, accuracy {accuracy:.3f}")
