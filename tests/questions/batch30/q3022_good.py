import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Loss(nn.Module):
    name = "loss"

    def __init__(self, log_weight=0.0):
        super().__init__()
        self.weight = 0.5 ** log_weight

    def compute(self, **kwargs):
        raise NotImplementedError

    def forward(self, **kwargs):
        scalar_loss = self.compute(**kwargs).mean()
        logs = {f"{self.name}_loss": scalar_loss.detach(), f"{self.name}_weight": self.weight}
        return scalar_loss, logs


class KeypointMSE(Loss):
    name = "keypoint"

    def compute(self, predicted, target, **kwargs):
        return (predicted - target) ** 2


class TemporalLoss(Loss):
    name = "temporal"

    def compute(self, video, **kwargs):
        return (video[1:] - video[:-1]).abs()


class LossFactory(nn.Module):
    def __init__(self, losses):
        super().__init__()
        self.losses = nn.ModuleList(losses)

    def forward(self, **kwargs):
        total, logs = 0.0, {}
        for loss_instance in self.losses:
            curr_loss, curr_logs = loss_instance(**kwargs)
            weighted = loss_instance.weight * curr_loss
            total = total + weighted
            logs.update(curr_logs)
            logs[f"{loss_instance.name}_loss_weighted"] = weighted.detach()
        return total, logs


frames = torch.randn(400, 24)
projection = torch.randn(24, 6) * 0.3
keypoints = torch.tanh(frames @ projection)
time = torch.linspace(0, 6, 200).unsqueeze(1)
video = torch.sin(time * torch.rand(1, 24) * 3) + 0.6 * torch.randn(200, 24)

loader = DataLoader(TensorDataset(frames[:300], keypoints[:300]), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 6))
factory = LossFactory([KeypointMSE(0.0), TemporalLoss(4.0)])
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(30):
    for x, y in loader:
        loss, logs = factory(predicted=model(x), target=y, video=model(video))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: total {loss.item():.4f} keypoint {logs['keypoint_loss']:.4f} "
              f"temporal {logs['temporal_loss']:.4f} weight {logs['temporal_weight']:.4f} "
              f"weighted temporal {logs['temporal_loss_weighted']:.5f}")
