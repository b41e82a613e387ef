import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)


class ConvNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(inplace=True),
        )
        self.classifier = nn.Linear(16, classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        self.activation = None
        self.gradient = None
        layer.register_forward_hook(self.save_activation)

    def save_activation(self, module, inputs, output):
        self.activation = output.detach().clone()
        if output.requires_grad:
            output.register_hook(self.save_gradient)

    def save_gradient(self, grad):
        self.gradient = grad.detach().clone()

    def __call__(self, image, index):
        score = self.model(image)[:, index].sum()
        self.model.zero_grad()
        score.backward()
        weights = self.gradient.mean((2, 3), keepdim=True)
        return F.relu((weights * self.activation).sum(1))


def make_images(count):
    labels = torch.randint(0, 3, (count,))
    images = torch.rand(count, 1, 16, 16) * 0.3
    for image, label in zip(images, labels):
        i, j = torch.randint(0, 11, (2,)).tolist()
        if label == 0:
            image[0, i : i + 5, j + 2] += 1.0
        elif label == 1:
            image[0, i + 2, j : j + 5] += 1.0
        else:
            image[0, i : i + 5, j : j + 5] += 1.0
    return images, labels


def main():
    model = ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(80):
        images, labels = make_images(32)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")
    model.eval()
    cam = GradCAM(model, model.features[4])
    images, labels = make_images(6)
    for image, label in zip(images, labels):
        heat = cam(image[None], int(label))
        print(int(label), [round(value, 3) for value in heat.amax((1, 2)).tolist()])


main()
