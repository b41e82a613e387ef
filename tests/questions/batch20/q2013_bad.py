import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)
N_CMD = 4


def drives(n):
    image = torch.randn(n, 3, 12, 16)
    speed = (image[:, 0, :6].mean((1, 2)) * 8.0 + 0.5 * image[:, 1].amax((1, 2)) - 1.0).unsqueeze(1)
    command = torch.randint(0, N_CMD, (n,))
    lane = image[:, :, 6:].mean(2).flatten(1)
    action = torch.tanh(torch.einsum("nf,nfa->na", lane, steer_w[command]))
    return image, speed, command, action


steer_w = torch.randn(N_CMD, 48, 3) * 0.6


class Coil(nn.Module):
    def __init__(self):
        super().__init__()
        self.perception = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * 6 * 8, 96), nn.ReLU(),
        )
        self.branches = nn.ModuleList([nn.Sequential(nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 3)) for _ in range(N_CMD)])
        self.speed_branch = nn.Sequential(nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, image):
        z = self.perception(image)
        return [branch(z) for branch in self.branches] + [self.speed_branch(z)]


def branched_loss(outputs, action, command, speed, speed_weight=0.5):
    n = action.shape[0]
    parts = []
    for k in range(N_CMD):
        chosen = (command == k).float().unsqueeze(1)
        parts.append(((outputs[k] - action) * chosen).pow(2))
    parts.append(speed_weight * (outputs[-1] - speed).pow(2))
    action_loss = parts[0] + parts[1] + parts[2] + parts[3]
    speed_loss = parts[4] / n
    return torch.sum(action_loss) / n + torch.sum(speed_loss) / n


image, speed, command, action = drives(3000)
model = Coil()
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(12):
    total = 0.0
    for idx in torch.randperm(len(image)).split(100):
        outputs = model(image[idx])
        loss = branched_loss(outputs, action[idx], command[idx], speed[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d} loss {total / len(image):.4f}")

with torch.no_grad():
    image, speed, command, action = drives(1000)
    outputs = model(image)
    chosen = torch.stack(outputs[:N_CMD], 1)[torch.arange(1000), command]
    action_err = F.mse_loss(chosen, action).item()
    speed_err = F.mse_loss(outputs[-1], speed).item()
print(f"action mse {action_err:.4f} (variance {action.var().item():.3f})  speed mse {speed_err:.4f} (variance {speed.var().item():.3f})")
