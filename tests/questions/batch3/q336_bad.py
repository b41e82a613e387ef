import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(61)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Sequential(
            nn.Conv2d(16, 16, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 25, 3)
        )

    def freeze(self):
        for p in self.backbone.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(x))


class GradCAM:
    def __init__(self, net, layer_name):
        self.net = net
        self.feature, self.gradient = None, None
        self.handlers = []
        for name, module in net.named_modules():
            if name == layer_name:
                self.handlers.append(module.register_forward_hook(self._get_features_hook))
                self.handlers.append(module.register_full_backward_hook(self._get_grads_hook))

    def _get_features_hook(self, module, inputs, output):
        self.feature = output

    def _get_grads_hook(self, module, input_grad, output_grad):
        self.gradient = output_grad[0]

    def __call__(self, image, index):
        self.net.zero_grad()
        output = self.net(image)
        output[0, index].backward()
        weight = self.gradient[0].mean((1, 2))
        cam = F.relu((self.feature[0] * weight[:, None, None]).sum(0))
        return cam / cam.max()


def make_images(count):
    labels = torch.randint(0, 3, (count,))
    images = 0.1 * torch.randn(count, 1, 12, 12)
    for image, label in zip(images, labels):
        r, c = torch.randint(1, 8, (2,)).tolist()
        if label == 0:
            image[0, r, c : c + 4] += 1
        elif label == 1:
            image[0, r : r + 4, c] += 1
        else:
            image[0, r : r + 3, c : c + 3] += 1
    return images, labels


net = Detector()
net.freeze()
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=3e-3)
for step in range(120):
    images, labels = make_images(64)
    loss = F.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.4f}")

net.eval()
grad_cam = GradCAM(net, "backbone.2")
image, label = make_images(1)
mask = grad_cam(image, int(label))
print("map", tuple(mask.shape), "peak at", divmod(int(mask.argmax()), 12))
