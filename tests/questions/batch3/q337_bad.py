from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(71)


class VideoNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv3d(8, 8, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.blocks(x).mean((2, 3, 4)))


class SmoothGradCAM:
    def __init__(self, model, target_layer):
        self.model = model
        self.hook_a, self.hook_g = None, None
        target_layer.register_forward_hook(self._hook_a)
        target_layer.register_forward_hook(self._hook_g)

    def _hook_a(self, module, inputs, output):
        self.hook_a = output.detach()

    def _store_grad(self, grad, idx=0):
        self.hook_g = grad.detach()

    def _hook_g(self, module, inputs, output):
        output.register_hook(partial(self._store_grad, idx=0))

    def __call__(self, class_idx, scores):
        self.model.zero_grad()
        scores[:, class_idx].sum().backward()
        weights = self.hook_g.mean((2, 3, 4), keepdim=True)
        return F.relu((weights * self.hook_a).sum(1))


def make_clips(count):
    labels = torch.randint(0, 3, (count,))
    clips = 0.2 * torch.randn(count, 1, 4, 8, 8)
    for clip, label in zip(clips, labels):
        clip[0, :, int(label) * 2 : int(label) * 2 + 2 + int(label), 2:6] += 1.0
    return clips, labels


model = VideoNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    clips, labels = make_clips(32)
    loss = F.cross_entropy(model(clips), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step}: loss {loss.item():.4f}")

model.eval()
cam_extractor = SmoothGradCAM(model, target_layer=model.blocks[2])
clip, target = make_clips(1)
with torch.no_grad():
    output = model(clip)
    activation_map = cam_extractor(int(target), output)
print("map", tuple(activation_map.shape), f"largest {activation_map.max():.4f}")
