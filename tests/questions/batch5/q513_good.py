import torch

torch.manual_seed(0)


class Calibration:
    """One gain for each sensor, all fitted at once."""

    def __init__(self, sensors):
        self.gain = torch.randn(sensors, requires_grad=True)

    def errors(self, reading, reference):
        return (self.gain * reading - reference).pow(2).mean(0)

    def fit_step(self, reading, reference, lr):
        errors = self.errors(reading, reference)
        errors.backward(torch.ones_like(errors))
        with torch.no_grad():
            self.gain -= lr * self.gain.grad
            self.gain.grad.zero_()
        return errors.detach()


true_gain = torch.tensor([1.5, -0.8, 0.4, 2.0, -1.2, 0.9])
reading = torch.randn(500, 6)
reference = reading * true_gain + 0.02 * torch.randn(500, 6)
calibration = Calibration(6)
for step in range(1, 61):
    batch = torch.randint(0, 500, (100,))
    errors = calibration.fit_step(reading[batch], reference[batch], lr=0.1)
    if step % 10 == 0:
        print(f"step {step}: mean error {errors.mean().item():.4f}")
print("gain", calibration.gain.tolist())
